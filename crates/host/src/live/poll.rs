//! Waiting for files.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::answer::number;

/// Waits until one of these has something to be read (`true`), or the time is over, or a signal comes.
///
/// # Errors
/// What the kernel said to poll(2).
pub fn wait_for_any(files: &[BorrowedFd<'_>], patience: Option<Duration>) -> io::Result<bool> {
    let poll =
        |file: &BorrowedFd<'_>| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<libc::pollfd> = files.iter().map(poll).collect();
    // Rounded up: what is left of less than a millisecond must not become a loop without pause.
    let milliseconds = |time: Duration| libc::c_int::try_from(time.as_nanos().div_ceil(1_000_000));
    let timeout_ms = patience.map_or(-1, |time| milliseconds(time).unwrap_or(libc::c_int::MAX));
    // SAFETY: as many valid pollfds as the count says.
    match number(unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        ready => ready.map(|count| count > 0),
    }
}
