//! Files that are either whole or absent: temporary file, fsync, rename.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What the user's mask leaves of it, as for every new file.
const FILE_MODE: u32 = 0o666;
/// How the name of a file ends that is not whole yet.
const UNFINISHED: &str = ".tmp";
/// More files or folders of one name than this are another problem.
const TRIES: u32 = 1000;

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

/// A file in the making: under its own name it is whole or absent. Until then it lies beside under another, which goes with this value;
/// what a kill leaves there is taken away by the next who writes the file.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
}

impl NewFile {
    /// Begins one. What is there and is no file (a device, a pipe, a link) is not replaced.
    ///
    /// # Errors
    /// `WriteError::File`.
    pub fn begin(path: &Path) -> Result<Self, WriteError> {
        if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
            let source = io::Error::other("it is there and no regular file");
            return Err(WriteError::File { path: path.to_owned(), source });
        }
        if let Some(name) = path.file_name() {
            remove_deserted(folder_of(path), name);
        }
        Self::beside(path, FILE_MODE).map_err(|source| WriteError::File { path: path.to_owned(), source })
    }

    fn beside(path: &Path, mode: u32) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        for number in 0..TRIES {
            let mut temporary_name = name.to_owned();
            temporary_name.push(format!(".{}-{number}{UNFINISHED}", std::process::id()));
            let temporary = folder_of(path).join(temporary_name);
            // Nothing that lies there is opened, least of all a link.
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Ok(file) if !is_kept(&file, &temporary) => {}
                opened => return Ok(Self { path: path.to_owned(), temporary, file: opened? }),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives it its name, in place of a file that has it, so that it survives a power cut.
    ///
    /// # Errors
    /// `WriteError::File`; nothing is left.
    pub fn finish(self) -> Result<(), WriteError> {
        let finished = self.file.sync_all().and_then(|()| fs::rename(&self.temporary, &self.path));
        // The rename itself must survive a power cut.
        let synced = finished.and_then(|()| File::open(folder_of(&self.path))?.sync_all());
        synced.map_err(|source| WriteError::File { path: self.path.clone(), source })
    }

    /// The same where no file has that name: true if it did.
    fn finish_anew(self) -> io::Result<bool> {
        self.file.sync_all()?;
        match fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // A file system without hard links, such as that of an object store: whoever is there first by a moment counts.
            Err(_) if fs::symlink_metadata(&self.path).is_err() => {
                fs::rename(&self.temporary, &self.path).map(|()| true)
            }
            Err(_) => Ok(false),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // Renamed by then, if all went well; while it is locked, nobody else takes this name.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Locks what this process just made, so that others know that it is at work; false if one of them took it away before. A lock ends
/// with its process, also in another container or on another machine, where the number of a process says nothing.
pub(crate) fn is_kept(file: &File, path: &Path) -> bool {
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return false;
    }
    let inode = |about: io::Result<fs::Metadata>| about.ok().map(|about| (about.dev(), about.ino()));
    inode(fs::symlink_metadata(path)) == inode(file.metadata())
}

/// What this user's processes left that are gone, held so that nobody else removes it: a file or folder.
pub(crate) fn deserted(path: &Path) -> Option<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let about = fs::symlink_metadata(path).ok()?;
    let is_plain = (about.is_file() || about.is_dir()) && about.uid() == super::effective_user();
    let file = is_plain.then(|| OpenOptions::new().read(true).custom_flags(flags).open(path))?.ok()?;
    file.try_lock().ok().map(|()| file)
}

/// Takes away unfinished files of this name whose writers are gone.
fn remove_deserted(folder: &Path, name: &OsStr) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let middle = found.as_bytes().strip_prefix(name.as_bytes()).and_then(|rest| {
            rest.strip_prefix(b".").and_then(|rest| rest.strip_suffix(UNFINISHED.as_bytes()))
        });
        if middle.is_some_and(|middle| middle.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-'))
            && let Some(_held) = deserted(&entry.path())
        {
            // Another who came at the same time may have been faster.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes the whole file or nothing: a reader, a crash or a full disk never sees half of it. What is there and is no file (a device, a
/// pipe, a link) is not replaced by one.
///
/// # Errors
/// `WriteError::File`; nothing is left.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = NewFile::begin(path)?;
    file.write_all(bytes).map_err(|source| WriteError::File { path: path.to_owned(), source })?;
    file.finish()
}

/// Writes a whole file with these permissions where none is: true if it did, false if there is one already, which stays as it is. Of
/// several writers, on several machines of one network file system too, one succeeds.
///
/// # Errors
/// `WriteError::File`; nothing is left.
pub fn create_atomically(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, WriteError> {
    let written = NewFile::beside(path, mode).and_then(|mut file| {
        file.write_all(bytes)?;
        file.finish_anew()
    });
    written.map_err(|source| WriteError::File { path: path.to_owned(), source })
}

/// Makes a folder of the user's choice, with all above it.
///
/// # Errors
/// `WriteError::Directory`.
pub fn make_folders(path: &Path) -> Result<(), WriteError> {
    fs::create_dir_all(path).map_err(|source| WriteError::Directory { path: path.to_owned(), source })
}

/// Makes a folder below one that others write to as well, part by part: nothing that they prepared leads elsewhere.
///
/// # Errors
/// `WriteError::Directory`.
pub fn make_folders_below(base: &Path, inside: &str) -> Result<PathBuf, WriteError> {
    let mut path = base.to_owned();
    for part in Path::new(inside) {
        path.push(part);
        let made = fs::create_dir(&path).or_else(|error| match fs::symlink_metadata(&path) {
            Ok(there) if there.is_dir() => Ok(()),
            Ok(_) => Err(io::Error::other("it is there and no folder")),
            Err(_) => Err(error),
        });
        made.map_err(|source| WriteError::Directory { path: path.clone(), source })?;
    }
    Ok(path)
}

/// Makes a directory that did not exist; if `preferred` is taken, `preferred-2`, `preferred-3` and so on.
///
/// # Errors
/// `WriteError::Directory` if the parent does not exist or may not be written.
pub fn create_directory_anew(preferred: &Path) -> Result<PathBuf, WriteError> {
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
    fn what_a_kill_left_goes_and_what_another_writes_or_prepared_stays() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = |name: &str| directory.path().join(name);
        fs::write(place("victim"), "kept").expect("writable");
        let own = std::process::id();
        std::os::unix::fs::symlink(place("victim"), place(&format!("a.{own}-0.tmp"))).expect("a link");
        for name in ["a.1-0.tmp", "a.7.tmp", "a.b.tmp", "ab.1-0.tmp"] {
            fs::write(place(name), "half").expect("writable");
        }
        let mut under_way = NewFile::begin(&place("a")).expect("writable");
        write_atomically(&place("a"), b"one").expect("beside the other");
        under_way.write_all(b"two").and_then(|()| under_way.flush()).expect("writable");
        under_way.finish().expect("it is still there");
        drop(NewFile::begin(&place("a")).expect("writable"));
        assert_eq!(fs::read(place("a")).expect("readable"), b"two");
        assert_eq!(fs::read(place("victim")).expect("readable"), b"kept");
        let mut names: Vec<_> = fs::read_dir(directory.path())
            .expect("listable")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("ours"))
            .collect();
        names.sort();
        assert_eq!(names, ["a", &format!("a.{own}-0.tmp"), "a.b.tmp", "ab.1-0.tmp", "victim"]);
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
    fn a_link_that_another_prepared_is_no_folder_to_write_to() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = |name: &str| directory.path().join(name);
        let base = place("base");
        make_folders(&base).expect("writable");
        for _ in 0..2 {
            assert_eq!(make_folders_below(&base, "3f/n1").expect("writable"), base.join("3f/n1"));
        }
        std::os::unix::fs::symlink(place(""), base.join("d0")).expect("a link");
        let error = make_folders_below(&base, "d0/n1").expect_err("a link").to_string();
        assert!(error.contains("base/d0: it is there and no folder") && !place("n1").exists(), "{error}");
        assert!(make_folders_below(&place("missing"), "3f").is_err());
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
