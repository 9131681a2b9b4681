//! The kernel's clocks: what the counter is measured against, and what is read where the counter cannot be.

use crate::source::{CounterDenied, NoCounter};

/// Nanoseconds in a second.
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Which of the kernel's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timescale {
    /// `CLOCK_MONOTONIC_RAW`: the hardware's own rate, never slewed.
    MonotonicRaw,
    /// `CLOCK_MONOTONIC`: since boot without sleep, slewed by NTP.
    Monotonic,
    /// `CLOCK_REALTIME`: since 1970, slewed and stepped.
    Realtime,
    /// `CLOCK_BOOTTIME`: `Monotonic` and the time asleep.
    Boottime,
}

impl Timescale {
    /// The number that the kernel knows it by.
    pub fn id(self) -> libc::clockid_t {
        match self {
            Self::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::Boottime => libc::CLOCK_BOOTTIME,
        }
    }
}

/// The way to the kernel's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelClock {
    /// `clock_gettime` of the C library: the page of code that the kernel maps into every process (vDSO), which reads the
    /// time-stamp counter itself where that is the kernel's clock source.
    Vdso,
    /// The system call, for processes in which a read of the counter raises a signal.
    SystemCall,
}

/// Why there is no clock at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// Even the kernel's clock is refused.
    #[error("the kernel refuses CLOCK_MONOTONIC_RAW; allow clock_gettime in this process's seccomp filter")]
    NoKernelClock,
}

impl KernelClock {
    /// The way where the counter cannot be used for this reason: the kernel's page of code reads it, too.
    pub(crate) fn without(reason: NoCounter) -> Self {
        match reason {
            NoCounter::Denied(CounterDenied::Signals) => Self::SystemCall,
            _ => Self::Vdso,
        }
    }

    /// Nanoseconds on a timescale; `None` if the kernel refuses, as a filter of system calls can make it.
    #[inline]
    pub fn read_ns(self, timescale: Timescale) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let status = match self {
            // SAFETY: `time` is a valid timespec for the call to fill.
            Self::Vdso => unsafe { libc::clock_gettime(timescale.id(), &raw mut time) },
            Self::SystemCall => {
                // SAFETY: the call takes a clock and a timespec to fill, and touches nothing else.
                let status = unsafe { libc::syscall(libc::SYS_clock_gettime, timescale.id(), &raw mut time) };
                status as libc::c_int
            }
        };
        // Both fields are non-negative, except for a realtime clock set before 1970.
        let seconds = u64::try_from(time.tv_sec).ok()?;
        (status == 0).then(|| seconds * NS_PER_SECOND + time.tv_nsec.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_lead_to_the_same_clocks() {
        for timescale in
            [Timescale::MonotonicRaw, Timescale::Monotonic, Timescale::Realtime, Timescale::Boottime]
        {
            let [first, second, third] = [KernelClock::Vdso, KernelClock::SystemCall, KernelClock::Vdso]
                .map(|way| way.read_ns(timescale).expect("this process is not confined"));
            let in_order = first <= second && second <= third;
            assert!(in_order || timescale == Timescale::Realtime, "{timescale:?}");
        }
    }
}
