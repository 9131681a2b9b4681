//! Waiting: for an event that another thread signals (eventfd(2), the cheapest way to wake a thread by file descriptor), and for files.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::answer::{number, owned};

/// A counter in the kernel; waiting takes it to zero.
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// One that nobody has signalled.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new() -> io::Result<Self> {
        // SAFETY: numbers only.
        owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) }).map(Self)
    }

    /// Wakes who waits.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn signal(&self) -> io::Result<()> {
        let one = 1_u64;
        // SAFETY: the descriptor is open, and eight bytes are read from a number of eight bytes.
        let written = unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
        number(written).map(drop)
    }

    /// Waits until it is signalled.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn wait(&self) -> io::Result<()> {
        let mut count = 0_u64;
        // SAFETY: the descriptor is open, and eight bytes are written to a number of eight bytes.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
        number(read).map(drop)
    }
}

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_thread_that_waits_is_woken() {
        let [there, back] = [Event::new(), Event::new()].map(|event| Arc::new(event.expect("a descriptor")));
        let (signal, answer) = (there.clone(), back.clone());
        let thread = std::thread::spawn(move || signal.wait().and_then(|()| answer.signal()));
        there.signal().expect("it takes a signal");
        back.wait().expect("it answers");
        thread.join().expect("it ends").expect("no error");
    }
}
