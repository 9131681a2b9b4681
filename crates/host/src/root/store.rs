//! Where the files of a root lie: this machine, a folder, or an archive in memory.

use std::io;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::folder::Look;
use super::{RootError, archive, folder};

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
        let unreadable = |source| RootError::Unreadable { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            std::fs::read_dir(path).map_err(unreadable)?;
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
            Self::Folder(base) => folder::look(&base.join(path)),
            Self::Archive(archive) => archive.look(path),
        }
    }

    /// The bytes of a file.
    pub(super) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match self {
            Self::Live => folder::read(&live(path)),
            Self::Folder(base) => folder::read(&base.join(path)),
            Self::Archive(archive) => {
                archive.read(path).map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// The names in a folder, sorted.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        match self {
            Self::Live => folder::list(&live(path)),
            Self::Folder(base) => folder::list(&base.join(path)),
            Self::Archive(archive) => archive.list(path),
        }
    }
}

/// The path on this machine.
fn live(path: &str) -> PathBuf {
    Path::new("/").join(path)
}
