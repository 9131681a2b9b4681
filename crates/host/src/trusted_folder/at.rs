//! System calls on names in a folder that is held open: no path is resolved, so nobody can put another folder in its place.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::answer::{done, number, owned};

/// The longest target of a link, `PATH_MAX` of include/uapi/linux/limits.h.
const LINK_BYTES_MAX: usize = 4096;

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Opens a name; a link is never followed.
pub(super) fn open(folder: &File, name: &OsStr, flags: libc::c_int, mode: libc::mode_t) -> io::Result<File> {
    let name = text(name)?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name ends with a NUL and is only read; the folder is open as long as this borrows it.
    let opened = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags, libc::c_uint::from(mode)) };
    owned(opened).map(File::from)
}

/// Makes a folder.
pub(super) fn make_folder(folder: &File, name: &OsStr, mode: libc::mode_t) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: as in `open`.
    done(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), mode) })
}

/// Takes a file away.
pub(super) fn remove(folder: &File, name: &OsStr) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: as in `open`.
    done(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) })
}

/// Gives a file another name in the same folder, in place of one that has it.
pub(super) fn rename(folder: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to) = (text(from)?, text(to)?);
    let folder = folder.as_raw_fd();
    // SAFETY: as in `open`, for both names.
    done(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
}

/// Where a link leads that is itself held open.
pub(super) fn link_target(link: &File) -> io::Result<OsString> {
    let mut target = vec![0_u8; LINK_BYTES_MAX];
    // SAFETY: an empty name means the link itself (readlinkat(2)); the kernel fills at most the length given.
    let length = unsafe {
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), target.as_mut_ptr().cast(), LINK_BYTES_MAX)
    };
    target.truncate(number(length)?);
    Ok(OsString::from_vec(target))
}
