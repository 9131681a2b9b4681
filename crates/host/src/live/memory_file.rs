//! A file in memory that no folder names: it is gone with the last who holds it.

use std::io;
use std::os::fd::OwnedFd;

use crate::answer::owned;

/// A new one, empty, which programs that are started do not inherit.
pub(super) fn memory_file() -> io::Result<OwnedFd> {
    // SAFETY: the name ends with a NUL and is only read.
    let fd = unsafe { libc::memfd_create(c"sidestep-output".as_ptr(), libc::MFD_CLOEXEC) };
    owned(fd)
}
