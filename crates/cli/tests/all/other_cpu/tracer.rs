//! The few things that ptrace does, each behind a safe function: a program that is stopped, looked at and set going.
//!
//! A tracee belongs to the thread that started it; all of this runs in that thread, and waits for nobody else's
//! children. Sources: ptrace(2), wait(2); Linux, include/uapi/linux/ptrace.h and arch/x86/include/uapi/asm/prctl.h.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr;

/// Registers of a stopped thread.
pub(crate) type Registers = libc::user_regs_struct;

/// Why a thread of the program stopped, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It enters a system call.
    Call,
    /// It comes back from one.
    Return,
    /// It, or a child of it, became another program.
    Exec,
    /// It made a thread or a child.
    Clone,
    /// It is about to get this signal.
    Signal(i32),
    /// It is gone; an exit code, or the negative number of a signal.
    Ended(i32),
}

/// A thread that stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopped {
    /// Its number.
    pub(crate) thread: libc::pid_t,
    /// Why.
    pub(crate) stop: Stop,
}

/// Starts a program that stops before its first instruction and is killed when its tracer ends.
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    let trace_me = || {
        // SAFETY: the request takes no address.
        let result = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec nothing is done but one system call.
    unsafe { command.pre_exec(trace_me) };
    command.spawn()
}

/// Asks for stops at system calls, threads, children and new programs.
pub(crate) fn follow(thread: libc::pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: the request takes its options as a number.
    done(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, thread, 0, libc::c_long::from(options)) })
}

/// Waits until a thread of the program stops or ends.
pub(crate) fn wait() -> io::Result<Stopped> {
    let mut status = 0;
    // SAFETY: the status is ours; without WNOTHREAD other tests' children would be taken.
    let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
    if thread == -1 {
        return Err(io::Error::last_os_error());
    }
    let stop = if libc::WIFEXITED(status) {
        Stop::Ended(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Stop::Ended(-libc::WTERMSIG(status))
    } else {
        stopped(thread, status)?
    };
    Ok(Stopped { thread, stop })
}

fn stopped(thread: libc::pid_t, status: i32) -> io::Result<Stop> {
    const OF_CALL: i32 = libc::SIGTRAP | 0x80;
    Ok(match (status >> 16, libc::WSTOPSIG(status)) {
        (libc::PTRACE_EVENT_EXEC, _) => Stop::Exec,
        (0, OF_CALL) if is_entry(thread)? => Stop::Call,
        (0, OF_CALL) => Stop::Return,
        (0, signal) => Stop::Signal(signal),
        _ => Stop::Clone,
    })
}

fn is_entry(thread: libc::pid_t) -> io::Result<bool> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let bytes = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel writes at most as many bytes as are stated.
    done(unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, thread, bytes, info.as_mut_ptr()) })?;
    // SAFETY: all bytes were zero before the kernel wrote some, and all fields are numbers.
    Ok(unsafe { info.assume_init() }.op == libc::PTRACE_SYSCALL_INFO_ENTRY)
}

/// Sets a thread going until its next system call or signal; `signal` 0 gives it none.
pub(crate) fn go_on(thread: libc::pid_t, signal: i32) -> io::Result<()> {
    // SAFETY: the request takes a signal as a number.
    done(unsafe { libc::ptrace(libc::PTRACE_SYSCALL, thread, 0, libc::c_long::from(signal)) })
}

/// The registers of a stopped thread.
pub(crate) fn registers(thread: libc::pid_t) -> io::Result<Registers> {
    let mut registers = cleared();
    // SAFETY: there is room for what the kernel writes.
    done(unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread, 0, ptr::from_mut(&mut registers)) })?;
    Ok(registers)
}

/// Registers that are all zero.
pub(crate) fn cleared() -> Registers {
    // SAFETY: all fields are numbers.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Sets the registers of a stopped thread.
pub(crate) fn set_registers(thread: libc::pid_t, registers: &Registers) -> io::Result<()> {
    // SAFETY: the kernel reads one whole set of registers.
    done(unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, 0, ptr::from_ref(registers)) })
}

/// The memory of a traced program; what is read-only for itself can be written too.
pub(crate) fn memory(thread: libc::pid_t) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(format!("/proc/{thread}/mem"))
}

/// Lets a program that has not begun make a system call with two operands, and gives its result.
pub(crate) fn call(thread: libc::pid_t, number: i64, operands: [u64; 2]) -> io::Result<i64> {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let (memory, before) = (memory(thread)?, registers(thread)?);
    let mut code = [0; 2];
    memory.read_exact_at(&mut code, before.rip)?;
    memory.write_all_at(&SYSCALL, before.rip)?;
    let mut asked = before;
    (asked.rax, asked.rdi, asked.rsi) = (number.cast_unsigned(), operands[0], operands[1]);
    // No system call is under way that the kernel could restart.
    asked.orig_rax = u64::MAX;
    set_registers(thread, &asked)?;
    // SAFETY: the request takes a signal as a number.
    done(unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, thread, 0, 0) })?;
    let after = wait()?;
    assert_eq!((after.thread, after.stop), (thread, Stop::Signal(libc::SIGTRAP)), "one instruction");
    let result = registers(thread)?.rax.cast_signed();
    memory.write_all_at(&code, before.rip)?;
    set_registers(thread, &before)?;
    Ok(result)
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
