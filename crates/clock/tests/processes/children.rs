//! Children of this process, and what they forbid themselves.

use std::fs;
use std::io::Write;

/// Says why a case cannot be made here. Not by `println!`: what a child prints so, the test harness keeps from its parent.
pub(crate) fn skip(reason: &str) {
    let line = format!("skipped: {reason}\n");
    // Nobody to tell is no reason to fail.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

/// No case takes as long, on a machine that is busy with other tests.
const PATIENCE_S: libc::c_uint = 600;

/// Runs `body` in a child and tells whether it was true. A child that dies by a signal was not.
pub(crate) fn child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the C library keeps its own locks consistent in the child; the body takes none of the test harness's.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "the kernel makes no child");
    if pid == 0 {
        // SAFETY: a child that hangs is ended by a signal; nothing else here asks for one.
        unsafe { libc::alarm(PATIENCE_S) };
        let is_true = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
        // SAFETY: leaves without running what belongs to the parent.
        unsafe { libc::_exit(i32::from(!is_true)) };
    }
    let mut status = 0;
    // SAFETY: the status is ours.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// From here on a read of the counter by this thread raises a signal.
pub(crate) fn forbid_counter() -> bool {
    // SAFETY: changes only how this thread may read the counter.
    unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) == 0 }
}

/// From here on the system call `clock_gettime` fails.
pub(crate) fn forbid_clock_gettime() -> bool {
    forbid(libc::SYS_clock_gettime)
}

/// From here on no thread can be started.
pub(crate) fn forbid_threads() -> bool {
    forbid(libc::SYS_clone) && forbid(libc::SYS_clone3)
}

/// From here on a system call fails.
fn forbid(call: libc::c_long) -> bool {
    /// Offset of the system call's number in what the filter sees. Linux, include/uapi/linux/seccomp.h.
    const NUMBER_AT: u32 = 0;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, NUMBER_AT),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes away rights of this process, which is a child made for that.
    let is_bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 };
    // SAFETY: the filter is valid for the call, which copies it.
    is_bound
        && unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0 }
}

pub(crate) fn pin_to_first_cpu() -> bool {
    let cpu = clock::allowed_cpus()[0] as usize;
    // SAFETY: a CPU set is plain bits, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel gave this number for such a set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is valid and its size is given.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0 }
}

/// Children made from here on live in a time namespace whose clocks are a thousand seconds ahead.
pub(crate) fn shift_time_of_children() -> bool {
    /// Linux, include/uapi/linux/sched.h.
    const CLONE_NEWTIME: libc::c_int = 0x80;
    // SAFETY: concerns only children of this process.
    let is_new = unsafe { libc::unshare(CLONE_NEWTIME) == 0 };
    is_new && fs::write("/proc/self/timens_offsets", "monotonic 1000 0\n").is_ok()
}
