//! Where the files of a root lie: this machine, a folder, or an archive in memory; files on disk are read with a limit and never by way
//! of a pipe or a device.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::archive::{self, Archive};
use super::{FILE_BYTES_MAX, Look, RootError};
use crate::plain_file::open_plain;

/// The three places files come from.
#[derive(Debug)]
pub(super) enum Store {
    Live,
    Folder(PathBuf),
    Archive(Archive),
}

impl Store {
    /// Without a single file.
    pub(super) fn empty() -> Self {
        Self::Archive(Archive::default())
    }

    /// A folder or a tarball.
    pub(super) fn open(path: &Path) -> Result<Self, RootError> {
        let unreadable = RootError::unreadable(path);
        let metadata = std::fs::metadata(path).map_err(&unreadable)?;
        if metadata.is_dir() {
            std::fs::read_dir(path).map_err(&unreadable)?;
            return Ok(Self::Folder(path.to_owned()));
        }
        if !metadata.is_file() {
            return Err(RootError::NotAnArchive { path: path.to_owned() });
        }
        archive::open(path).map(Self::Archive)
    }

    /// True if the path may be used as it is: no link lies on the way, or the kernel follows it rightly.
    pub(super) fn is_direct(&self, path: &str) -> bool {
        match self {
            Self::Live => true,
            Self::Folder(_) => false,
            Self::Archive(archive) => archive.is_direct(path),
        }
    }

    /// What the name is; `path` has no leading slash.
    pub(super) fn look(&self, path: &str) -> Look {
        match self {
            Self::Live => match std::fs::metadata(live(path)) {
                Ok(metadata) if metadata.is_dir() => Look::Directory,
                Ok(_) => Look::File,
                Err(_) => Look::Missing,
            },
            Self::Folder(base) => look(&base.join(path)),
            Self::Archive(archive) => archive.look(path),
        }
    }

    /// The bytes of a file.
    pub(super) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match self {
            Self::Live => read_file(&live(path)),
            Self::Folder(base) => read_file(&base.join(path)),
            Self::Archive(archive) => {
                archive.read(path).map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// The names in a folder, sorted.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        match self {
            Self::Live => names(&live(path)),
            Self::Folder(base) => names(&base.join(path)),
            Self::Archive(archive) => archive.list(path),
        }
    }
}

/// The path on this machine.
fn live(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

/// What the name is, links not followed; pipes, sockets and devices count as missing.
pub(crate) fn look(path: &Path) -> Look {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Look::Missing };
    if metadata.is_dir() {
        Look::Directory
    } else if metadata.is_file() {
        Look::File
    } else if metadata.is_symlink() {
        fs::read_link(path).map_or(Look::Missing, |target| Look::Link(target.to_string_lossy().into_owned()))
    } else {
        Look::Missing
    }
}

/// The bytes of a regular file, at most [`FILE_BYTES_MAX`].
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_plain(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => io::ErrorKind::NotFound.into(),
        _ => error,
    })?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The names in a folder, sorted; none if it cannot be read.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
