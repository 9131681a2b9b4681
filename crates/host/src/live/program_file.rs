//! The file of a program or library that is watched: code of one that has ended, and symbols.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};

/// A file that is open for reading.
#[derive(Debug)]
pub struct ProgramFile {
    file: File,
}

/// A file with symbols that is larger than this is not read: a browser with all of them has 3 GiB.
const WHOLE_BYTES_MAX: u64 = 512 << 20;

impl ProgramFile {
    /// Opens the file that a process has mapped: as the process sees it if it runs (it may have a root of its own), else
    /// by its path.
    ///
    /// # Errors
    /// It is gone, or may not be read, or another stands in its place.
    pub fn open(pid: u32, path: &str, inode: Option<u64>) -> io::Result<Self> {
        let file = File::open(format!("/proc/{pid}/root{path}")).or_else(|_| File::open(path))?;
        let found = file.metadata()?;
        if !found.is_file() || inode.is_some_and(|inode| found.ino() != inode) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self { file })
    }

    /// Reads from a place on; returns how many bytes were there.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }

    /// All of it.
    ///
    /// # Errors
    /// What the kernel said, or it is larger than 512 MiB.
    pub fn whole(&self) -> io::Result<Vec<u8>> {
        if self.file.metadata()?.len() > WHOLE_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        (&self.file).take(WHOLE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_program_is_an_elf_file_and_another_inode_is_refused() {
        let path = std::env::current_exe().expect("it has one");
        let path = path.to_str().expect("a plain path");
        let file = ProgramFile::open(std::process::id(), path, None).expect("it is there");
        let mut magic = [0; 4];
        assert_eq!(file.read_at(0, &mut magic).expect("it can be read"), 4);
        assert_eq!(&magic, b"\x7fELF");
        assert!(ProgramFile::open(std::process::id(), path, Some(1)).is_err());
        assert!(ProgramFile::open(u32::MAX, "/no/such", None).is_err());
    }
}
