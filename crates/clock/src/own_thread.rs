//! What the calling thread may be bound to, and the signals that it takes.

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
    // SAFETY: 0 is the calling thread; the set is valid and its size is told.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0 }
}

/// The CPUs that this process may use, ascending.
pub fn allowed_cpus() -> Vec<u32> {
    // SAFETY: as in `confine`.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the set is valid and its size is told.
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
