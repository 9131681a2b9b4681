//! Kernel time sources that can be priced: clocks of clock_gettime, gettimeofday, and the bare system call; the cheapest system call;
//! what the kernel's discipline of the clock says of itself.

use std::mem;
use std::ops::BitOrAssign;
use std::ptr;
use std::time::Duration;

use record::NtpState;

use super::forked::{Forked, in_forked_child};

/// A way to ask the kernel, or its page in user space, for the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSource {
    /// `clock_gettime` of a clock, through the vDSO where it has one.
    Clock(libc::clockid_t),
    /// `gettimeofday`, through the vDSO.
    GetTimeOfDay,
    /// `time`, in whole seconds, through the vDSO.
    Seconds,
    /// `clock_gettime(CLOCK_MONOTONIC)` as a system call.
    SystemCall,
}

impl TimeSource {
    /// All sources in the order in which a table shows them.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Clock(libc::CLOCK_REALTIME), "clock_gettime(CLOCK_REALTIME)"),
        (Self::Clock(libc::CLOCK_MONOTONIC), "clock_gettime(CLOCK_MONOTONIC)"),
        (Self::Clock(libc::CLOCK_MONOTONIC_RAW), "clock_gettime(CLOCK_MONOTONIC_RAW)"),
        (Self::Clock(libc::CLOCK_MONOTONIC_COARSE), "clock_gettime(CLOCK_MONOTONIC_COARSE)"),
        (Self::Clock(libc::CLOCK_BOOTTIME), "clock_gettime(CLOCK_BOOTTIME)"),
        (Self::Clock(libc::CLOCK_PROCESS_CPUTIME_ID), "clock_gettime(CLOCK_PROCESS_CPUTIME_ID)"),
        (Self::Clock(libc::CLOCK_THREAD_CPUTIME_ID), "clock_gettime(CLOCK_THREAD_CPUTIME_ID)"),
        (Self::GetTimeOfDay, "gettimeofday"),
        (Self::SystemCall, "clock_gettime system call"),
    ];

    /// What only a list of prices holds: too coarse to tell anything of the time between two CPUs.
    pub const COARSE: [(Self, &'static str); 2] = [
        (Self::Clock(libc::CLOCK_REALTIME_COARSE), "clock_gettime(CLOCK_REALTIME_COARSE)"),
        (Self::Seconds, "time"),
    ];

    /// Reads the source `count` times and throws the values away; true if every read worked.
    #[inline]
    pub fn read_many(self, count: u32) -> bool {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut day = libc::timeval { tv_sec: 0, tv_usec: 0 };
        match self {
            // SAFETY: `time` is a valid timespec to fill.
            Self::Clock(clock) => all_work(count, || unsafe { libc::clock_gettime(clock, &raw mut time) }),
            Self::GetTimeOfDay => all_work(count, || {
                // SAFETY: `day` is a valid timeval to fill; no time zone is asked for.
                unsafe { libc::gettimeofday(&raw mut day, ptr::null_mut()) }
            }),
            // SAFETY: no place to fill is given.
            Self::Seconds => all_work(count, || unsafe { libc::time(ptr::null_mut()) }),
            // SAFETY: the number and arguments are those of clock_gettime(2), `time` is valid to fill.
            Self::SystemCall => all_work(count, || unsafe {
                libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time)
            }),
        }
    }

    /// What the source says now, in nanoseconds; `None` where the kernel has no such clock.
    #[inline]
    pub fn read_ns(self) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let status = match self {
            // SAFETY: `time` is a valid timespec to fill.
            Self::Clock(clock) => unsafe { libc::clock_gettime(clock, &raw mut time) },
            Self::GetTimeOfDay => {
                let mut day = libc::timeval { tv_sec: 0, tv_usec: 0 };
                // SAFETY: `day` is a valid timeval to fill; no time zone is asked for.
                let status = unsafe { libc::gettimeofday(&raw mut day, ptr::null_mut()) };
                time = libc::timespec { tv_sec: day.tv_sec, tv_nsec: day.tv_usec * 1_000 };
                status
            }
            Self::Seconds => {
                // SAFETY: no place to fill is given.
                time.tv_sec = unsafe { libc::time(ptr::null_mut()) };
                0
            }
            Self::SystemCall => {
                let clock = libc::CLOCK_MONOTONIC;
                // SAFETY: the number and arguments are those of clock_gettime(2), `time` is valid to fill.
                let status = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
                i32::from(status != 0)
            }
        };
        // Before 1970, which only a clock that was set so shows, there is no number for it.
        let seconds = u64::try_from(time.tv_sec).ok()?;
        (status == 0).then(|| seconds * 1_000_000_000 + time.tv_nsec.unsigned_abs())
    }

    /// In which steps it tells the time, as the kernel says, in nanoseconds; `None` where it has no such clock. For the fine
    /// clocks that is 1, whatever the counter behind them: clock_getres(2).
    pub fn resolution_ns(self) -> Option<u64> {
        /// Of a microsecond, in which `gettimeofday` counts.
        const MICROSECOND_NS: u64 = 1_000;
        /// Of a second, in which `time` counts.
        const SECOND_NS: u64 = 1_000_000_000;
        let clock = match self {
            Self::Clock(clock) => clock,
            Self::SystemCall => libc::CLOCK_MONOTONIC,
            Self::GetTimeOfDay => return Some(MICROSECOND_NS),
            Self::Seconds => return Some(SECOND_NS),
        };
        let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `step` is a valid timespec to fill.
        let status = unsafe { libc::clock_getres(clock, &raw mut step) };
        (status == 0).then(|| step.tv_sec.unsigned_abs() * SECOND_NS + step.tv_nsec.unsigned_abs())
    }

    /// Why this process may not make the system call, if so: a filter may refuse it or kill whoever makes it, so a child
    /// tries first.
    pub fn system_call_denied() -> Option<String> {
        /// A child that reads the clock once.
        const LIMIT: Duration = Duration::from_secs(2);
        let ask = |numbers: &mut [u64; 1]| numbers[0] = u64::from(Self::SystemCall.read_many(1));
        match in_forked_child(ask, LIMIT) {
            Ok(Forked::Signal(signal)) => {
                Some(format!("a filter of system calls kills whoever makes the call (signal {signal})"))
            }
            // What the call says otherwise is reported where it is made.
            _ => None,
        }
    }

    /// Whether it is a system call wherever it is read: of CPU time the kernel's page in user space knows nothing.
    pub const fn is_system_call(self) -> bool {
        matches!(self, Self::SystemCall) || !self.is_of_the_system()
    }

    /// Whether it tells of the world and not of a process or thread.
    pub const fn is_of_the_system(self) -> bool {
        !matches!(self, Self::Clock(libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID))
    }
}

/// Reads so many times; true if no read answered a number below 0.
#[inline]
fn all_work<T: Default + PartialOrd + BitOrAssign>(count: u32, mut read: impl FnMut() -> T) -> bool {
    let mut answers = T::default();
    for _ in 0..count {
        answers |= read();
    }
    answers >= T::default()
}

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

/// Asks for the parent's number `count` times (`getppid`, which no library answers from memory) and returns it.
#[inline]
pub fn ask_for_parent(count: u32) -> u32 {
    let mut parent = 0;
    for _ in 0..count {
        // SAFETY: the call takes no arguments and touches no memory of ours.
        parent = unsafe { libc::syscall(libc::SYS_getppid) };
    }
    parent as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_can_be_read() {
        for (source, name) in TimeSource::ALL.into_iter().chain(TimeSource::COARSE) {
            assert!(source.read_many(3) && source.read_ns().is_some(), "{name}");
            assert!(source.resolution_ns().is_some_and(|ns| ns > 0), "{name}");
        }
    }

    #[test]
    fn the_state_is_finite_where_it_may_be_read() {
        let Some(state) = ntp_state() else {
            println!("skipped: adjtimex is forbidden here");
            return;
        };
        // The kernel keeps the correction below 500 ppm (MAXFREQ).
        assert!(state.frequency_ppm.abs() <= 500.0, "{state:?}");
    }

    #[test]
    fn the_parent_is_the_one_the_library_names() {
        assert_eq!(ask_for_parent(3), std::os::unix::process::parent_id());
        assert_eq!(ask_for_parent(0), 0);
    }
}
