//! What the kernel says of clocks and CPUs: the raw monotonic clock, the few named files that tell of a disruption, the CPUs that the
//! calling thread may be bound to, and the signals that it takes.
//!
//! The crate stands alone, so it opens these files itself; nothing else in it opens any.

use std::fs;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`: not slewed by NTP, so a rate measured against it is the hardware's.
pub fn monotonic_raw_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    assert!(status == 0, "CLOCK_MONOTONIC_RAW exists since Linux 2.6.28");
    // Both fields are non-negative for this clock.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The kernel's clock source, as it names it.
pub(crate) fn clock_source() -> Option<String> {
    trimmed("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The CPUs that are online, as the kernel writes them: `0-3,6`.
pub(crate) fn online_cpus() -> Option<String> {
    trimmed("/sys/devices/system/cpu/online")
}

/// How many CPU numbers there can ever be; 4096, the most that TSC_AUX has room for, where the kernel does not say.
pub fn possible_cpu_count() -> usize {
    /// What 12 bits hold.
    const CPU_COUNT_MAX: usize = 4_096;
    let list = trimmed("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = cpu_list(&list).into_iter().max();
    last.map_or(CPU_COUNT_MAX, |cpu| (cpu as usize + 1).min(CPU_COUNT_MAX))
}

/// The CPUs of a list as the kernel writes them; what is not a number or a range is left out.
pub(crate) fn cpu_list(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

fn trimmed(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The page in which a hypervisor says that it has moved or restored this machine.
#[derive(Debug)]
pub struct VmClock {
    page: &'static VmClockPage,
}

/// The head of the page. Source: UAPI.13 VMClock, version 1.
#[derive(Debug)]
#[repr(C)]
struct VmClockPage {
    magic: AtomicU32,
    page_bytes: AtomicU32,
    version_and_kinds: AtomicU32,
    /// Odd while the fields below change.
    sequence: AtomicU32,
    disruption_marker: AtomicU64,
}

impl VmClock {
    /// Maps the page; `None` where the machine has none or the process may not see it.
    pub fn map() -> Option<Self> {
        /// The part of the page that is mapped; the kernel maps whole pages.
        const MAPPED_BYTES: usize = 4_096;
        /// "VCLK".
        const MAGIC: u32 = 0x4b4c_4356;
        let file = fs::File::open("/dev/vmclock0").ok()?;
        let (reading, shared) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours.
        let page =
            unsafe { libc::mmap(std::ptr::null_mut(), MAPPED_BYTES, reading, shared, file.as_raw_fd(), 0) };
        if page == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the mapping is aligned to a page, longer than the struct of atomics, and never taken away.
        let page = unsafe { &*page.cast::<VmClockPage>() };
        (page.magic.load(Ordering::Relaxed) == MAGIC).then_some(Self { page })
    }

    /// A number that changes whenever the counter may have been disrupted; `None` if it keeps changing.
    pub fn disruption_marker(&self) -> Option<u64> {
        /// An update takes less than a microsecond; a page that never settles is not worth waiting for.
        const TRIES: u32 = 1_000;
        (0..TRIES).find_map(|_| {
            let sequence = self.page.sequence.load(Ordering::Acquire);
            let value = self.page.disruption_marker.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            let is_settled = sequence & 1 == 0 && self.page.sequence.load(Ordering::Relaxed) == sequence;
            is_settled.then_some(value)
        })
    }
}

/// Pins the calling thread.
pub(crate) fn pin(cpu: u32) -> bool {
    confine(&[cpu])
}

/// Lets the calling thread run on these CPUs only.
pub(crate) fn confine(cpus: &[u32]) -> bool {
    // SAFETY: a CPU set is plain bits, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return false;
        }
        // SAFETY: the CPU is below the size of the set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: 0 is the calling thread; the set is valid and its size is given.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0 }
}

/// The CPUs that this process may use, ascending.
pub fn allowed_cpus() -> Vec<u32> {
    // SAFETY: as in `confine`.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the set is valid and its size is given.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    if status != 0 {
        return vec![];
    }
    // SAFETY: all numbers are below the size of the set.
    (0..libc::CPU_SETSIZE as u32).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu as usize, &set) }).collect()
}

/// All signals blocked in this thread and those it starts, until dropped: a program's handlers run in its own threads.
pub(crate) struct MaskedSignals {
    before: libc::sigset_t,
}

impl MaskedSignals {
    pub(crate) fn all() -> Self {
        // SAFETY: a signal set is plain bits; both are filled before they are read.
        let [mut all, mut before]: [libc::sigset_t; 2] = unsafe { std::mem::zeroed() };
        // SAFETY: the set is ours.
        unsafe { libc::sigfillset(&raw mut all) };
        // SAFETY: both sets are ours; the call cannot fail with SIG_SETMASK.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) };
        Self { before }
    }
}

impl Drop for MaskedSignals {
    fn drop(&mut self) {
        // SAFETY: the set is the one that the kernel gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        for (list, expected) in [
            ("0-3,6", vec![0, 1, 2, 3, 6]),
            ("0", vec![0]),
            ("", vec![]),
            ("x,2-", vec![]),
            ("3-1,5", vec![5]),
        ] {
            assert_eq!(cpu_list(list), expected, "{list}");
        }
    }

    #[test]
    fn there_is_room_for_every_cpu_of_this_machine() {
        let last = online_cpus().and_then(|list| cpu_list(&list).into_iter().max()).unwrap_or(0);
        assert!(possible_cpu_count() > last as usize);
    }
}
