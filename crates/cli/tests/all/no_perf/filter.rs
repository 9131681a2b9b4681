//! A filter of system calls, as container engines install it: `perf_event_open` is not permitted.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K and BPF_RET | BPF_K; include/uapi/linux/bpf_common.h.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// Of `seccomp_data`: the number of the call; include/uapi/linux/seccomp.h.
const NUMBER_OFFSET: u32 = 0;

/// Lets a command, and all that it starts, get EPERM from `perf_event_open`.
pub(crate) fn forbid_performance_events(command: &mut Command) {
    let step = |code, skip_if_not, value| libc::sock_filter { code, jt: 0, jf: skip_if_not, k: value };
    let steps = [
        step(LOAD, 0, NUMBER_OFFSET),
        step(JUMP_IF_EQUAL, 1, libc::SYS_perf_event_open as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_ptr().cast_mut() };
        // SAFETY: takes numbers only.
        let alone = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        // SAFETY: the program is valid, and the kernel copies it.
        let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
        if alone == 0 && set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec it only makes two system calls, and reads memory that was there before.
    unsafe { command.pre_exec(install) };
}
