//! Facts about this process and this moment: root, host name, UTC time, memory used, what the kernel charged to a thread.

use std::mem;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Root;
use crate::describe::source::meminfo_bytes;
use crate::task_stat::{Field, TaskStat};

/// True if the effective user is root.
pub fn effective_root() -> bool {
    effective_user() == 0
}

/// The user whose process this is; `None` if there is none of this number.
pub fn process_user(process: u32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(format!("/proc/{process}")).ok().map(|meta| meta.uid())
}

/// True of a thread of the kernel; false, too, if there is no process of this number.
pub fn is_kernel_thread(process: u32) -> bool {
    TaskStat::read(&Root::live(), &process.to_string()).is_some_and(|stat| stat.is_of_kernel())
}

/// When a process started, in clock ticks since boot: with the number it names a process for good.
pub fn process_start_ticks(process: u32) -> Option<u64> {
    TaskStat::read(&Root::live(), &process.to_string())?.number(Field::StartTicks)
}

/// The nice value of this process.
pub fn own_nice() -> Option<i32> {
    TaskStat::read(&Root::live(), "self")?.number(Field::Nice)
}

/// The effective user of this process.
pub fn effective_user() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

/// The host name; only ever stored when the user asks for it.
pub fn host_name() -> Option<String> {
    kernel_word("hostname")
}

/// The name of this boot, a new one each time; `None` where the kernel does not show it.
pub fn boot_id() -> Option<String> {
    kernel_word("random/boot_id")
}

/// Release of the running kernel, such as `6.18.0`.
pub fn kernel_release() -> Option<String> {
    kernel_word("osrelease")
}

/// True if this process may write the file of this machine; the path has no leading slash. A file that its owner may
/// not write either counts as read-only, although root may open it: the kernel has no way to take a write.
pub fn is_writable(path: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    /// `S_IWUSR | S_IWGRP | S_IWOTH`, include/uapi/linux/stat.h.
    const WRITE_BITS: u32 = 0o222;
    let path = std::path::Path::new("/").join(path);
    let has_bits = std::fs::metadata(&path).is_ok_and(|meta| meta.permissions().mode() & WRITE_BITS != 0);
    let Ok(path) = std::ffi::CString::new(path.into_os_string().into_encoded_bytes()) else { return false };
    // SAFETY: the path ends with a NUL and is only read.
    has_bits && unsafe { libc::access(path.as_ptr(), libc::W_OK) } == 0
}

/// A word that the kernel shows in a file below `/proc/sys/kernel`.
fn kernel_word(name: &str) -> Option<String> {
    Root::live().read(&format!("/proc/sys/kernel/{name}")).ok().filter(|word| !word.is_empty())
}

/// Seconds by the clock on the wall, which processes have in common.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Now, as `2026-11-21T02:18:46Z`.
pub fn utc_now() -> String {
    utc_text(unix_seconds())
}

/// Civil date from a count of days: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn utc_text(unix_seconds: u64) -> String {
    /// Days from 0000-03-01 to 1970-01-01.
    const EPOCH_DAYS: u64 = 719_468;
    /// Days in 400 years.
    const ERA_DAYS: u64 = 146_097;
    let (days, second_of_day) = (unix_seconds / 86_400 + EPOCH_DAYS, unix_seconds % 86_400);
    let (era, day_of_era) = (days / ERA_DAYS, days % ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The most memory this process has held at once, in bytes (`VmHWM`).
pub fn peak_resident_bytes() -> Option<u64> {
    let status = Root::live().read("/proc/self/status").ok()?;
    meminfo_bytes(&status, "VmHWM").map(|bytes| bytes.0)
}

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
    fn dates_follow_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(utc_text(seconds), expected);
        }
    }

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
