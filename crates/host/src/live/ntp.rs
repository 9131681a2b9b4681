//! What the kernel's discipline of the clock says of itself; nothing is set.

use std::mem;

use record::NtpState;

/// Units of `timex.freq`: parts per million scaled by 2^16. adjtimex(2).
const FREQUENCY_SCALE: f64 = 65_536.0;
/// Offsets are in nanoseconds instead of microseconds if this is set. adjtimex(2), STA_NANO.
const STA_NANO: libc::c_int = 0x2000;

/// The state of the discipline; `None` where it may not be asked for (a sandbox).
pub fn ntp_state() -> Option<NtpState> {
    // SAFETY: timex is plain numbers; all zero asks for nothing to be set (`modes` is 0).
    let mut timex: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: the structure is valid for the kernel to fill.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    (state >= 0).then(|| NtpState {
        synchronised: state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0,
        frequency_ppm: timex.freq as f64 / FREQUENCY_SCALE,
        offset_us: timex.offset as f64 / if timex.status & STA_NANO != 0 { 1e3 } else { 1.0 },
        estimated_error_us: timex.esterror as f64,
        maximum_error_us: timex.maxerror as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_finite_where_it_may_be_read() {
        let Some(state) = ntp_state() else {
            println!("skipped: adjtimex is forbidden here");
            return;
        };
        // The kernel keeps the correction below 500 ppm (MAXFREQ).
        assert!(state.frequency_ppm.abs() <= 500.0, "{state:?}");
    }
}
