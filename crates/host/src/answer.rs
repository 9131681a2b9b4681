//! What a system call answers, as a result: the error is that of the call made last in this thread.
//!
//! Allocates nothing, so that it may stand between fork and exec.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Of a call that answers 0.
#[inline]
pub(crate) fn done(status: impl Into<libc::c_long>) -> io::Result<()> {
    if status.into() == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Of a call that answers a number, below 0 where it fails.
#[inline]
pub(crate) fn number(answer: impl TryInto<usize>) -> io::Result<usize> {
    answer.try_into().map_err(|_| io::Error::last_os_error())
}

/// Of a call that has just made a descriptor, which belongs to nobody else.
pub(crate) fn owned(descriptor: impl TryInto<u32>) -> io::Result<OwnedFd> {
    let descriptor = descriptor.try_into().map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the caller has had it made for this.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor.cast_signed()) })
}

/// Of `mmap`.
pub(crate) fn mapped<T>(base: *mut libc::c_void) -> io::Result<NonNull<T>> {
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(base.cast()).expect("the kernel never maps at 0 unasked"))
}
