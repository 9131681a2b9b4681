//! An event that one thread signals and another waits for: eventfd(2), the cheapest way to wake a thread by file descriptor.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_thread_that_waits_is_woken() {
        let [there, back] = [Event::new(), Event::new()].map(|event| Arc::new(event.expect("a descriptor")));
        let (heard, answer) = (there.clone(), back.clone());
        let thread = std::thread::spawn(move || heard.wait().and_then(|()| answer.signal()));
        there.signal().expect("it takes a signal");
        back.wait().expect("it answers");
        thread.join().expect("it ends").expect("no error");
    }
}
