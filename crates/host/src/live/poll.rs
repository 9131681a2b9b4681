//! Waiting for several files at once.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Waits until one of these has something to be read, or the time is over.
///
/// # Errors
/// What the kernel said to poll(2).
pub fn wait_for_any(files: &[BorrowedFd<'_>], patience: Duration) -> io::Result<()> {
    let poll =
        |file: &BorrowedFd<'_>| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<libc::pollfd> = files.iter().map(poll).collect();
    let timeout_ms = libc::c_int::try_from(patience.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: as many valid pollfds as the count says.
    if unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) } >= 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        error => Err(error),
    }
}
