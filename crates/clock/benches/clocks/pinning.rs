//! Threads on chosen CPUs.

/// Pins the calling thread; panics where that is not allowed, as nothing could be measured then.
pub(crate) fn pin(cpus: &[u32]) {
    // SAFETY: a CPU set is plain bits, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: the numbers come from the kernel, for this very set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: 0 is the calling thread; the set is valid and its size is told.
    let status = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    assert!(status == 0, "the kernel gave these CPUs and now refuses them");
}

/// Two CPUs that differ, if this process has two.
pub(crate) fn two_cpus() -> Option<[u32; 2]> {
    let cpus = clock::allowed_cpus();
    Some([*cpus.first()?, *cpus.last()?]).filter(|[first, last]| first != last)
}
