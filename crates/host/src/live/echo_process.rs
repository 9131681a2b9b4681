//! A child process that sends back every byte it is sent, over two pipes: each round trip switches between two address
//! spaces where both run on one CPU.
//!
//! The child is a bare fork of the calling thread: it has that thread's CPUs, speculation controls and scheduling
//! without being set, and starting it takes less than a program would. After a fork of a process with threads only
//! async-signal-safe calls are allowed, so the child does nothing but close, read, write and end. It ends at the end of
//! its pipe, and by a signal of the kernel when the thread that started it ends, whatever ended that.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::marker::PhantomData;
use std::os::fd::AsRawFd;

use super::child::{die_with_parent, reap};

/// What is sent to and fro.
const BYTE: u8 = 1;

/// The first file descriptor that the child has no use for: 0 and 1 are its pipes.
const FIRST_UNUSED: libc::c_int = 2;

/// A running child, seen from the thread that started it.
#[derive(Debug)]
pub struct EchoProcess {
    child: libc::pid_t,
    to_child: PipeWriter,
    from_child: PipeReader,
    /// The child ends with the thread that started it.
    _not_send: PhantomData<*const ()>,
}

impl EchoProcess {
    /// Starts a child with all settings that the calling thread has now.
    ///
    /// # Errors
    /// What the kernel said: too many open files or processes, or too little memory.
    pub fn start() -> io::Result<Self> {
        let (child_reader, to_child) = io::pipe()?;
        let (from_child, child_writer) = io::pipe()?;
        // SAFETY: no arguments, cannot fail.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child only makes async-signal-safe calls and leaves by _exit.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => echo(parent, &child_reader, &child_writer),
            child => Ok(Self { child, to_child, from_child, _not_send: PhantomData }),
        }
    }

    /// Sends a byte and waits until it is back.
    ///
    /// # Errors
    /// `BrokenPipe` or `UnexpectedEof` if the child is gone.
    #[inline]
    pub fn round_trip(&mut self) -> io::Result<()> {
        self.to_child.write_all(&[BYTE])?;
        self.from_child.read_exact(&mut [0])
    }
}

impl Drop for EchoProcess {
    fn drop(&mut self) {
        // SAFETY: a signal to our own child, which nobody else waits for, so that its number is still its own.
        unsafe { libc::kill(self.child, libc::SIGKILL) };
        // It is gone in any case.
        let _ = reap(self.child);
    }
}

/// The child's side. Allocates nothing and cannot panic: it has only one of the threads, and locks that others held
/// stay locked.
fn echo(parent: libc::pid_t, reader: &PipeReader, writer: &PipeWriter) -> ! {
    die_with_parent();
    // SAFETY: no arguments, cannot fail. A parent that ended before the line above sends no signal.
    let orphaned = unsafe { libc::getppid() } != parent;
    let ready = !orphaned && take_place(reader.as_raw_fd(), writer.as_raw_fd());
    let mut byte = BYTE;
    while ready && transfer(true, &mut byte) && transfer(false, &mut byte) {}
    // SAFETY: ends this process and runs nothing of the parent's.
    unsafe { libc::_exit(0) }
}

/// Makes the pipes descriptors 0 and 1 and closes all others, so that this child keeps no pipe or lock of the parent
/// open.
fn take_place(reader: libc::c_int, writer: libc::c_int) -> bool {
    // Where the parent runs without standard input or output its pipes may have their numbers: the writer must not be
    // overwritten by the reader before it is moved.
    // SAFETY: the descriptors are open; numbers only.
    let writer = unsafe { libc::fcntl(writer, libc::F_DUPFD, FIRST_UNUSED) };
    // SAFETY: as above.
    let has_reader = unsafe { libc::dup2(reader, 0) } == 0;
    // SAFETY: as above.
    let has_writer = unsafe { libc::dup2(writer, 1) } == 1;
    // Before Linux 5.9 there is no such call: the child then ends by the signal alone.
    // SAFETY: nothing here uses a descriptor from 2 on any more; numbers only.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST_UNUSED, libc::c_int::MAX, 0) };
    has_reader && has_writer
}

/// Reads or writes one byte; false at the end of the pipe.
fn transfer(inwards: bool, byte: &mut u8) -> bool {
    let address = (&raw mut *byte).cast();
    loop {
        let moved = if inwards {
            // SAFETY: one byte of ours to fill.
            unsafe { libc::read(0, address, 1) }
        } else {
            // SAFETY: one byte of ours to read.
            unsafe { libc::write(1, address, 1) }
        };
        // A handler of the parent's may run here; reading errno allocates nothing.
        let interrupted = moved == -1 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        if !interrupted {
            return moved == 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{
        ProcessSetting, SettingGuard, Speculation, allowed_cpus, process_start_ticks, speculation,
    };

    fn status_field(pid: libc::pid_t, name: &str) -> Option<String> {
        let status = crate::Root::live().read(&format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    }

    #[test]
    fn bytes_come_back_until_it_is_dropped_and_then_nothing_is_left() {
        let mut echo = EchoProcess::start().expect("a child");
        for _ in 0..100 {
            echo.round_trip().expect("the child answers");
        }
        let child = echo.child;
        assert!(process_start_ticks(child.unsigned_abs()).is_some());
        drop(echo);
        // Waited for, so that not even a zombie has the number.
        assert_eq!(
            status_field(child, "PPid:").filter(|parent| *parent == std::process::id().to_string()),
            None
        );
    }

    #[test]
    fn a_child_that_is_gone_is_an_error() {
        let mut echo = EchoProcess::start().expect("a child");
        // SAFETY: a signal to our own child.
        unsafe { libc::kill(echo.child, libc::SIGKILL) };
        let failed = (0..1_000_000).find_map(|_| echo.round_trip().err()).expect("it cannot answer for ever");
        assert!(
            matches!(failed.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof),
            "{failed}"
        );
    }

    #[test]
    fn it_holds_its_two_pipes_and_no_other_file() {
        let file = tempfile::tempfile().expect("a file");
        let mut echo = EchoProcess::start().expect("a child");
        echo.round_trip().expect("after this it has taken its place");
        let open = std::fs::read_dir(format!("/proc/{}/fd", echo.child)).expect("a child of ours").count();
        assert!(
            open == 2 || crate::live::kernel_release().is_none_or(|release| release.starts_with('4')),
            "{open}"
        );
        drop(file);
    }

    #[test]
    fn it_has_the_settings_that_its_thread_had_at_the_start() {
        std::thread::spawn(|| {
            let cpu = allowed_cpus().first().expect("a CPU");
            let mut settings = vec![ProcessSetting::Affinity([cpu].into_iter().collect())];
            let kind = Speculation::IndirectBranch;
            let switchable = speculation(kind).is_ok_and(|state| state.switchable);
            if switchable {
                settings.push(ProcessSetting::StopSpeculation(kind, true));
            }
            let guard = SettingGuard::make(&settings).expect("both need no privilege");
            let mut echo = EchoProcess::start().expect("a child");
            drop(guard);
            echo.round_trip().expect("it answers");
            assert_eq!(status_field(echo.child, "Cpus_allowed_list:"), Some(cpu.0.to_string()));
            let branches = status_field(echo.child, "SpeculationIndirectBranch:");
            assert!(!switchable || branches.is_none_or(|state| state.contains("disabled")));
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn it_ends_with_the_thread_that_started_it() {
        let (child, started) = std::thread::spawn(|| {
            let mut echo = EchoProcess::start().expect("a child");
            echo.round_trip().expect("it answers");
            let (child, started) = (echo.child, process_start_ticks(echo.child.unsigned_abs()));
            std::mem::forget(echo);
            (child, started)
        })
        .join()
        .expect("the thread ends");
        assert!(started.is_some());
        let mut status = 0;
        // SAFETY: waits for our own child, whose handle was forgotten; `status` is ours to fill.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL, "{status:#x}");
    }
}
