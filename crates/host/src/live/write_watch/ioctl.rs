//! What is said to a userfaultfd; include/uapi/linux/userfaultfd.h of Linux.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::answer::done;

/// UFFD_API.
pub(super) const VERSION: u64 = 0xaa;
/// UFFD_FEATURE_PAGEFAULT_FLAG_WP.
pub(super) const TELLS_WRITES: u64 = 1 << 0;
/// UFFD_FEATURE_THREAD_ID.
pub(super) const TELLS_THREAD: u64 = 1 << 8;
/// UFFDIO_REGISTER_MODE_WP.
pub(super) const REGISTER_WRITES: u64 = 1 << 1;
/// UFFDIO_WRITEPROTECT_MODE_WP.
pub(super) const PROTECT: u64 = 1 << 0;
/// No mode of UFFDIO_WRITEPROTECT: the protection is lifted and who waits is woken.
pub(super) const LIFT: u64 = 0;

/// `struct uffdio_api`.
#[repr(C)]
pub(super) struct Api {
    pub(super) version: u64,
    pub(super) features: u64,
    pub(super) ioctls: u64,
}

/// `struct uffdio_range`, whose call wakes who waits there.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) bytes: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
pub(super) struct Register {
    pub(super) range: Range,
    pub(super) mode: u64,
    pub(super) ioctls: u64,
}

/// `struct uffdio_writeprotect`.
#[repr(C)]
pub(super) struct WriteProtect {
    pub(super) range: Range,
    pub(super) mode: u64,
}

/// A structure that the kernel reads and writes for one number of call. All are plain numbers.
pub(super) trait Argument {
    /// The number of the call.
    const CALL: libc::c_ulong;
}

/// `_IOWR`, or `_IOR` where the kernel only reads (its own words: the wrong way round, and kept so); include/uapi/asm-generic/ioctl.h.
const fn number(direction: libc::c_ulong, call: libc::c_ulong, bytes: usize) -> libc::c_ulong {
    /// UFFDIO.
    const FAMILY: libc::c_ulong = 0xaa;
    direction << 30 | (bytes as libc::c_ulong) << 16 | FAMILY << 8 | call
}

const READ: libc::c_ulong = 2;
const READ_AND_WRITE: libc::c_ulong = 3;

impl Argument for Api {
    const CALL: libc::c_ulong = number(READ_AND_WRITE, 0x3f, size_of::<Self>());
}

impl Argument for Register {
    const CALL: libc::c_ulong = number(READ_AND_WRITE, 0x00, size_of::<Self>());
}

impl Argument for Range {
    const CALL: libc::c_ulong = number(READ, 0x02, size_of::<Self>());
}

impl Argument for WriteProtect {
    const CALL: libc::c_ulong = number(READ_AND_WRITE, 0x06, size_of::<Self>());
}

/// Says it. While the process changes its mappings the kernel asks to try again.
pub(super) fn call<T: Argument>(file: &OwnedFd, argument: &mut T) -> io::Result<()> {
    /// A process that changes its mappings all the time is left alone.
    const TRIES: usize = 100;
    let mut failure = io::ErrorKind::WouldBlock.into();
    for _ in 0..TRIES {
        // SAFETY: the descriptor is open, and the argument is what this call takes, ours for the kernel to write.
        match done(unsafe { libc::ioctl(file.as_raw_fd(), T::CALL, std::ptr::from_mut(argument)) }) {
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {
                failure = error;
            }
            called => return called,
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the macros of the header give them.
    #[test]
    fn calls_have_the_numbers_of_the_header() {
        assert_eq!(Api::CALL, 0xc018_aa3f);
        assert_eq!(Register::CALL, 0xc020_aa00);
        assert_eq!(Range::CALL, 0x8010_aa02);
        assert_eq!(WriteProtect::CALL, 0xc018_aa06);
    }
}
