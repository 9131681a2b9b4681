//! System calls on names in a folder that is held open: no path is resolved, so nobody can put another folder in its place.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The longest target of a link, `PATH_MAX` of include/uapi/linux/limits.h.
const LINK_BYTES_MAX: usize = 4096;

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens a name; a link is never followed.
pub(super) fn open(folder: &File, name: &OsStr, flags: libc::c_int, mode: libc::mode_t) -> io::Result<File> {
    let name = text(name)?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name ends with a NUL and is only read; the folder is open as long as this borrows it.
    let opened = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags, libc::c_uint::from(mode)) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(opened) })
}

/// Makes a folder.
pub(super) fn make_folder(folder: &File, name: &OsStr, mode: libc::mode_t) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: as in `open`.
    checked(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), mode) })
}

/// Takes a file away.
pub(super) fn remove(folder: &File, name: &OsStr) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: as in `open`.
    checked(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) })
}

/// Gives a file another name in the same folder, in place of one that has it.
pub(super) fn rename(folder: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to) = (text(from)?, text(to)?);
    let folder = folder.as_raw_fd();
    // SAFETY: as in `open`, for both names.
    checked(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
}

/// Where a link leads that is itself held open.
pub(super) fn link_target(link: &File) -> io::Result<OsString> {
    let mut target = vec![0_u8; LINK_BYTES_MAX];
    // SAFETY: an empty name means the link itself (readlinkat(2)); the kernel fills at most the length given.
    let length = unsafe {
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), target.as_mut_ptr().cast(), LINK_BYTES_MAX)
    };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    target.truncate(length);
    Ok(OsString::from_vec(target))
}
