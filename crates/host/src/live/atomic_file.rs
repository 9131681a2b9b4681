//! Files that are either whole or absent: temporary file, fsync, rename.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What the user's mask leaves of it, as for every new file.
const FILE_MODE: u32 = 0o666;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A file could not be written; nothing is left of it.
    #[error("cannot write {path}: {source}; choose another place")]
    File {
        /// The file that was to be.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A directory could not be made.
    #[error("cannot create {path}: {source}; choose another place")]
    Directory {
        /// The directory that was to be.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Writes the whole file or nothing: a reader, a crash or a full disk never sees half of it. What is there and is no file (a device, a
/// pipe, a link) is not replaced by one.
///
/// # Errors
/// `WriteError::File`; the temporary file is removed.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let failed = |source| WriteError::File { path: path.to_owned(), source };
    let name = path.file_name().ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidInput)))?;
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(failed(io::Error::other("it is there and no regular file")));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary_name = name.to_owned();
    temporary_name.push(format!(".{}.tmp", std::process::id()));
    let temporary = directory.join(temporary_name);
    let result = write_and_sync(&temporary, bytes, FILE_MODE)
        .and_then(|()| fs::rename(&temporary, path))
        // The rename itself must survive a power cut.
        .and_then(|()| File::open(directory).and_then(|directory| directory.sync_all()));
    if result.is_err() {
        // Already renamed or never made: nothing to remove then.
        let _ = fs::remove_file(&temporary);
    }
    result.map_err(failed)
}

/// Writes a whole file with these permissions where none is: true if it did, false if there is one already, which stays as it is. Of
/// several writers, on several machines of one network file system too, one succeeds.
///
/// # Errors
/// `WriteError::File`; nothing is left.
pub fn create_atomically(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, WriteError> {
    let failed = |source| WriteError::File { path: path.to_owned(), source };
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let result =
        write_and_sync(&temporary, bytes, mode).and_then(|()| match fs::hard_link(&temporary, path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // A file system without hard links, such as that of an object store: whoever is there first by a moment counts.
            Err(_) if !path.exists() => fs::rename(&temporary, path).map(|()| true),
            Err(_) => Ok(false),
        });
    // A name too many, or renamed already.
    let _ = fs::remove_file(&temporary);
    result.map_err(failed)
}

fn write_and_sync(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes a directory that did not exist; if `preferred` is taken, `preferred-2`, `preferred-3` and so on.
///
/// # Errors
/// `WriteError::Directory` if the parent does not exist or may not be written.
pub fn create_directory_anew(preferred: &Path) -> Result<PathBuf, WriteError> {
    /// More runs than this within one second are not runs.
    const TRIES: u32 = 1000;
    let mut path = preferred.to_owned();
    for number in 2..TRIES {
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut name = preferred.as_os_str().to_owned();
                name.push(format!("-{number}"));
                path = PathBuf::from(name);
            }
            Err(source) => return Err(WriteError::Directory { path, source }),
        }
    }
    Err(WriteError::Directory { path, source: io::Error::from(io::ErrorKind::AlreadyExists) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("record.json");
        write_atomically(&path, b"one").expect("writable");
        write_atomically(&path, b"two").expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), b"two");
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 1);
    }

    #[test]
    fn what_is_no_file_is_not_replaced_by_one() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (link, socket) = (directory.path().join("link"), directory.path().join("socket"));
        std::os::unix::fs::symlink("elsewhere", &link).expect("writable");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("writable");
        for path in [&link, &socket, &PathBuf::from("/dev/null")] {
            let error = write_atomically(path, b"one").expect_err("no file").to_string();
            assert!(error.ends_with("it is there and no regular file; choose another place"), "{error}");
        }
        assert!(link.is_symlink() && !directory.path().join("elsewhere").exists());
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 2);
    }

    #[test]
    fn a_file_that_is_there_is_never_replaced_by_a_new_one() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("key");
        assert!(create_atomically(&path, b"one", 0o600).expect("writable"));
        assert!(!create_atomically(&path, b"two", 0o600).expect("writable"));
        assert_eq!(fs::read(&path).expect("readable"), b"one");
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 1);
        assert!(create_atomically(Path::new("/nonexistent/key"), b"", 0o600).is_err());
    }

    #[test]
    fn a_missing_directory_is_named_in_the_error() {
        let error =
            write_atomically(Path::new("/nonexistent/record.json"), b"").expect_err("no such directory");
        assert!(error.to_string().contains("/nonexistent/record.json"));
    }

    #[test]
    fn a_taken_directory_gets_a_number() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let preferred = directory.path().join("run");
        let first = create_directory_anew(&preferred).expect("writable");
        let second = create_directory_anew(&preferred).expect("writable");
        assert_eq!(first, preferred);
        assert!(second.to_string_lossy().ends_with("run-2"));
    }
}
