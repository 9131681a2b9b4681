//! Who writes to a page: pages protected by userfaultfd, whose writers wait until they are let through.
//!
//! Protection by `mprotect` makes a system call that writes there fail, in a program that works otherwise. Here the kernel's own writes
//! wait as the program's do. What the kernel holds goes with the descriptor: when its last holder closes it or dies, all protection is
//! lifted and all who wait go on (fs/userfaultfd.c, `userfaultfd_release`). So nothing has to be put back, as long as the watched
//! process keeps no copy of it. A child of `fork` is not protected, and memory that is unmapped or moved is so no more: no event
//! is asked for that the program would have to wait for. A watch that the kernel allows for user mode only is none: system calls would fail.

mod ioctl;
mod message;
mod own_page;
mod post;

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

pub use message::{MESSAGE_BYTES, WriteFault, parse_write_faults};
pub use own_page::OwnPage;
pub use post::{Given, WriteInvitation, WritePost};

use ioctl::{Api, Range, Register, WriteProtect};

use crate::answer::{number, owned};
use crate::live::page_bytes;

/// Messages that are read at once.
const MESSAGES: usize = 16;

/// Why writes cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WriteWatchError {
    /// The kernel says no.
    #[error(
        "the kernel refuses userfaultfd ({0}): it is for root (CAP_SYS_PTRACE), or for all with vm.unprivileged_userfaultfd = 1"
    )]
    Refused(io::Error),
    /// The kernel cannot do what is needed.
    #[error("this kernel's userfaultfd does not tell which thread writes ({0}); Linux 5.7 and later do")]
    Lacking(io::Error),
}

/// The right to protect pages of one process, and to hear of who writes to them. Dropped, nothing is protected any more.
#[derive(Debug)]
pub struct WriteWatch(OwnedFd);

impl WriteWatch {
    /// Of this process.
    ///
    /// # Errors
    /// The kernel forbids it.
    pub fn of_self() -> Result<Self, WriteWatchError> {
        // SAFETY: takes numbers only.
        let file = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) };
        Self::given(owned(file).map_err(WriteWatchError::Refused)?)
    }

    /// Of the process that has made this and given it away; the kernel refuses to agree with anything else by these words.
    ///
    /// # Errors
    /// It is something else, or an older kernel's.
    pub fn given(file: OwnedFd) -> Result<Self, WriteWatchError> {
        let mut api =
            Api { version: ioctl::VERSION, features: ioctl::TELLS_WRITES | ioctl::TELLS_THREAD, ioctls: 0 };
        ioctl::call(&file, &mut api).map_err(WriteWatchError::Lacking)?;
        Ok(Self(file))
    }

    /// Takes a whole mapping into what can be protected; part of one would split it.
    ///
    /// # Errors
    /// It is not mapped as said, or not private memory without a file.
    pub fn cover(&self, start: u64, bytes: u64) -> io::Result<()> {
        let range = Range { start, bytes };
        ioctl::call(&self.0, &mut Register { range, mode: ioctl::REGISTER_WRITES, ioctls: 0 })
    }

    /// Lets the next write to the page wait. A page that has not been touched yet stays as it is.
    ///
    /// # Errors
    /// It is not there any more: the mapping is gone ([`ErrorKind::NotFound`]), or the process.
    pub fn protect(&self, page: u64) -> io::Result<()> {
        let range = Range { start: page, bytes: page_bytes() as u64 };
        ioctl::call(&self.0, &mut WriteProtect { range, mode: ioctl::PROTECT })
    }

    /// Lets all writes to the page through, and all who wait for it go on, whatever has become of it.
    pub fn let_through(&self, page: u64) {
        let range = Range { start: page, bytes: page_bytes() as u64 };
        let lifted = ioctl::call(&self.0, &mut WriteProtect { range, mode: ioctl::LIFT });
        if lifted.is_err() {
            // Unmapped meanwhile: the kernel wakes nobody then. Who tries again fails as it would have without us. It cannot fail
            // for a range of a page.
            let mut range = range;
            let _ = ioctl::call(&self.0, &mut range);
        }
    }

    /// Hands over who waits now, each once.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn take(&self, mut take: impl FnMut(WriteFault)) -> io::Result<()> {
        loop {
            let mut bytes = [0_u8; MESSAGES * MESSAGE_BYTES];
            // SAFETY: the descriptor is open, and the buffer as long as is said.
            let length = unsafe { libc::read(self.0.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
            let length = match number(length) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                length => length?,
            };
            parse_write_faults(&bytes[..length], &mut take);
            if length < bytes.len() {
                return Ok(());
            }
        }
    }
}

impl AsFd for WriteWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
