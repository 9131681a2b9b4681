//! What the kernel charged to the calling thread: switches, CPU time, faults.

use std::mem;

/// Counters of the calling thread; only differences mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadUsage {
    /// Times the thread was taken off its CPU although it wanted to run.
    pub involuntary_switches: u64,
    /// Times it gave the CPU up.
    pub voluntary_switches: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
}

impl ThreadUsage {
    /// Reads the counters (`getrusage(RUSAGE_THREAD)`, about 0.3 us).
    #[inline]
    pub fn now() -> Self {
        let usage = usage_of(libc::RUSAGE_THREAD);
        Self {
            involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
            voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
            minor_faults: usage.ru_minflt.unsigned_abs(),
        }
    }
}

/// CPU time the calling thread has used, in nanoseconds.
pub fn thread_cpu_time_ns() -> u64 {
    cpu_time_ns(&usage_of(libc::RUSAGE_THREAD))
}

/// CPU time of all threads of the process since it began, in nanoseconds.
pub fn process_cpu_time_ns() -> u64 {
    cpu_time_ns(&usage_of(libc::RUSAGE_SELF))
}

/// User and system time, to the microsecond. The clocks of CPU time are finer, but are system calls everywhere, and
/// a filter that forbids `clock_gettime` forbids them.
fn cpu_time_ns(usage: &libc::rusage) -> u64 {
    [usage.ru_utime, usage.ru_stime]
        .map(|time| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
        .iter()
        .sum()
}

#[inline]
fn usage_of(whom: libc::c_int) -> libc::rusage {
    // SAFETY: rusage is plain numbers, zero is valid.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is valid for the kernel to fill.
    let status = unsafe { libc::getrusage(whom, &raw mut usage) };
    assert!(status == 0, "RUSAGE_SELF is as old as Linux, RUSAGE_THREAD exists since 2.6.26");
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_cpu_time_never_fall() {
        let (usage, cpu_ns) = (ThreadUsage::now(), thread_cpu_time_ns());
        let later = ThreadUsage::now();
        assert!(later.minor_faults >= usage.minor_faults);
        assert!(later.involuntary_switches >= usage.involuntary_switches);
        assert!(thread_cpu_time_ns() >= cpu_ns);
        assert!(process_cpu_time_ns() >= cpu_ns);
    }
}
