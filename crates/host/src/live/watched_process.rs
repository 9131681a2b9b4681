//! Another process that is watched: its memory, and the file of its program or of a library, for code of one that has ended, and symbols.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::page_bytes;
use crate::plain_file::open_plain;

/// Reads from an address on, up to the end of what is mapped; returns how many bytes were there.
///
/// # Errors
/// What the kernel said: nothing is mapped there (`EFAULT`), the process is gone (`ESRCH`) or another's (`EPERM`).
pub fn read_process_memory(pid: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    // Where one transfer may end.
    let page_bytes = page_bytes() as u64;
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // A transfer is whole or not for each vector, so a vector ends with its page.
    let first = into.len().min((page_bytes - address % page_bytes) as usize);
    let remote = [(address, first), (address.wrapping_add(first as u64), into.len() - first)]
        .map(|(start, length)| libc::iovec { iov_base: start as *mut libc::c_void, iov_len: length });
    // SAFETY: `local` is ours to fill with as many bytes as it has; the kernel checks the other side.
    let count = unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), 2, 0) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

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
        let file = open_plain(Path::new(&format!("/proc/{pid}/root{path}")))
            .or_else(|_| open_plain(Path::new(path)))?;
        let found = file.metadata()?;
        if inode.is_some_and(|inode| found.ino() != inode) {
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
    fn own_memory_reads_as_it_is_and_nothing_is_nowhere() {
        let text = *b"to be read";
        let mut copy = [0; 10];
        let address = std::ptr::from_ref(&text) as u64;
        let own = std::process::id();
        assert_eq!(read_process_memory(own, address, &mut copy).expect("own memory"), 10);
        assert_eq!(copy, text);
        assert!(read_process_memory(own, 0, &mut copy).is_err());
        assert!(read_process_memory(own, u64::MAX - 4, &mut copy).is_err());
        assert!(read_process_memory(u32::MAX, address, &mut copy).is_err());
    }

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
        // A mapped file that was deleted is named so, and anybody may put a pipe there.
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("program (deleted)");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
        assert!(ProgramFile::open(std::process::id(), pipe.to_str().expect("plain"), None).is_err());
    }
}
