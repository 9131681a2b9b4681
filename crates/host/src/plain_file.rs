//! The door for reading a path that somebody else may have prepared: what is opened is a regular file, opening it never waits, and it is
//! read up to a bound.
//!
//! What is ours and has to be trusted goes through [`crate::trusted_folder`], what is written through `live::atomic_file`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use machine::Bytes;

/// Why a path is no file to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPlain {
    /// A folder, a device, a pipe or a socket.
    #[error("it is not a regular file")]
    Kind,
    /// It has more bytes than this.
    #[error("it is larger than {0}")]
    Large(Bytes),
}

impl From<NotPlain> for io::Error {
    fn from(why: NotPlain) -> Self {
        let kind = match why {
            NotPlain::Kind => io::ErrorKind::InvalidInput,
            NotPlain::Large(_) => io::ErrorKind::FileTooLarge,
        };
        Self::new(kind, why)
    }
}

/// Opens a regular file to read; a link is followed, as whoever names a file means what it leads to.
///
/// # Errors
/// `NotPlain::Kind`, or what the operating system said.
pub fn open_plain(path: &Path) -> io::Result<File> {
    // To open a device may do something already; and who swaps it for a pipe in between must not make this wait.
    if !fs::metadata(path)?.is_file() {
        return Err(NotPlain::Kind.into());
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(NotPlain::Kind.into()) }
}

/// The bytes of a regular file of at most `bytes_max`; it may grow while it is read, or be larger than it says.
///
/// # Errors
/// `NotPlain`, or what the operating system said.
pub fn read_plain(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(NotPlain::Large(Bytes(bytes_max)).into()) } else { Ok(bytes) }
}

/// The same as text.
///
/// # Errors
/// As for `read_plain`, or it is not UTF-8.
pub fn read_plain_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read_plain(path, bytes_max)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
        std::os::unix::fs::symlink(&pipe, &link).expect("a link");
        for path in [folder.path(), Path::new("/dev/zero"), &pipe, &link] {
            let error = read_plain(path, 10).expect_err("no file");
            assert_eq!(error.to_string(), "it is not a regular file", "{}", path.display());
        }
    }

    #[test]
    fn a_file_is_read_up_to_its_bound_whatever_size_it_claims() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        fs::write(&file, "four").expect("writable");
        assert_eq!(read_plain_text(&file, 4).expect("as large as allowed"), "four");
        let error = read_plain(&file, 3).expect_err("one byte too many");
        assert_eq!(error.to_string(), "it is larger than 3 B");
        assert!(read_plain(Path::new("/proc/self/maps"), 1).is_err(), "it says that it has no bytes");
        fs::write(&file, [0xff]).expect("writable");
        assert!(read_plain_text(&file, 4).is_err());
    }
}
