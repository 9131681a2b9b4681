//! Files and folders on disk, read with a limit and never by way of a pipe or a device.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::FILE_BYTES_MAX;

/// What a name is, links not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    Missing,
    File,
    Directory,
    Link(String),
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
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The names in a folder, sorted; none if it cannot be read.
pub(crate) fn list(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
