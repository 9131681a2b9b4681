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
        // SAFETY: rusage is plain numbers, zero is valid.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: `usage` is valid for the kernel to fill.
        let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        assert!(status == 0, "RUSAGE_THREAD exists since Linux 2.6.26");
        Self {
            involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
            voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
            minor_faults: usage.ru_minflt.unsigned_abs(),
        }
    }
}

/// CPU time the calling thread has used, in nanoseconds.
pub fn thread_cpu_time_ns() -> u64 {
    cpu_time_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of the process since it began, in nanoseconds.
pub fn process_cpu_time_ns() -> u64 {
    cpu_time_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_time_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert!(status == 0, "the clocks of CPU time exist on every Linux with threads");
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
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
