//! Standard output as it was given to this program.
//!
//! The language's own handle hides what went wrong: before `main` the runtime opens `/dev/null` where a standard file was
//! closed, and a write to one that was opened for reading counts as done. A result would be lost, and the exit code say
//! that all is well. So this looks before the runtime does, and writes past its handle.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if there was no standard output when the program began.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: fcntl with F_GETFD takes numbers and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: functions of this section run once before `main`, in one thread (System V ABI, gABI chapter 5, "Initialization
// and Termination Functions"); this one makes a system call and an atomic store.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Standard output; its errors are those of the kernel.
///
/// # Errors
/// `EBADF` if it was closed when the program began, or is open for reading only.
pub fn standard_output() -> io::Result<File> {
    let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // SAFETY: fcntl with F_GETFL takes numbers and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFL) };
    let is_writable = flags != -1 && flags & libc::O_ACCMODE != libc::O_RDONLY;
    if WAS_CLOSED.load(Ordering::Relaxed) || !is_writable {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    Ok(file)
}
