//! The kernel's raw monotonic clock, the reference for the time-stamp counter.

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`: not slewed by NTP, so a rate measured against it is the hardware's.
pub fn monotonic_raw_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    assert!(status == 0, "CLOCK_MONOTONIC_RAW exists since Linux 2.6.28");
    // Both fields are non-negative for this clock.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
