//! Waits until a boot has settled.

use std::thread;
use std::time::{Duration, Instant};

use experiments::ab::across_reboot::visit::{LOOK_S, Look, Next, Settling};
use host::Root;
use host::live::{Disturbance, pending_signal, snapshot};

use crate::progress::BootLine;

/// Clock ticks of /proc/stat in a second, the same on all x86. Source: Linux, `USER_HZ` in
/// include/asm-generic/param.h.
const TICKS_PER_S: f64 = 100.0;

/// Waits, and says whether the machine settled; a signal ends it early.
pub(super) fn settle(patience_s: f64, line: &BootLine) -> bool {
    let begun = Instant::now();
    let mut settling = Settling::default();
    let mut before = snapshot();
    while pending_signal().is_none() {
        line.say(&format!("settling, {:.0} s of at most {patience_s:.0} s", begun.elapsed().as_secs_f64()));
        let looked = Instant::now();
        thread::sleep(Duration::from_secs_f64(LOOK_S));
        let now = snapshot();
        let uptime = Root::live().read("/proc/uptime").unwrap_or_default();
        let look = Look {
            uptime_s: uptime.split_whitespace().next().and_then(|word| word.parse().ok()),
            waited_s: begun.elapsed().as_secs_f64(),
            busy_cpus: busy_cpus(&before, &now, looked.elapsed().as_secs_f64()),
        };
        before = now;
        match settling.look(&look, patience_s) {
            Next::Wait => {}
            Next::Settled => return true,
            Next::Unsettled => return false,
        }
    }
    false
}

/// CPUs that others kept busy between two readings.
fn busy_cpus(before: &Disturbance, now: &Disturbance, elapsed_s: f64) -> f64 {
    let busy = |of: &Disturbance| of.total_ticks.saturating_sub(of.idle_ticks).saturating_sub(of.own_ticks);
    busy(now).saturating_sub(busy(before)) as f64 / (TICKS_PER_S * elapsed_s.max(LOOK_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_and_idle_time_is_nobody_elses() {
        let before =
            Disturbance { total_ticks: 1000, idle_ticks: 900, own_ticks: 10, ..Disturbance::default() };
        let now = Disturbance { total_ticks: 1400, idle_ticks: 1080, own_ticks: 30, ..before };
        // 400 ticks, 180 idle and 20 ours: 200 in two seconds of 100 ticks.
        assert!((busy_cpus(&before, &now, 2.0) - 1.0).abs() < 1e-12);
        assert!(busy_cpus(&now, &before, 2.0).abs() < 1e-12);
    }
}
