//! A task for a helper process and what it hands back, in memory that no folder names: whoever is killed, nothing is left behind.
//!
//! Two files of memory are the helper's standard input and output. The first holds the task; when the helper has read it, it writes
//! into both in turn, so that one that is killed while it writes leaves what it wrote before. No prefix of a document may be one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::answer::owned;

/// The two files, on either side.
#[derive(Debug)]
pub struct Handover([MemoryFile; 2]);

impl Handover {
    /// Files for a helper, with its task.
    ///
    /// # Errors
    /// No memory, or a kernel without files in it.
    pub fn new(task: &[u8]) -> io::Result<Self> {
        let files = Self([MemoryFile::new()?, MemoryFile::new()?]);
        files.0[0].replace(task)?;
        Ok(files)
    }

    /// In the helper: those that it was started with.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn inherited() -> io::Result<Self> {
        let own = |fd: BorrowedFd<'_>| Ok::<_, io::Error>(MemoryFile(fd.try_clone_to_owned()?.into()));
        Ok(Self([own(io::stdin().as_fd())?, own(io::stdout().as_fd())?]))
    }

    /// The task, until the helper has written twice.
    ///
    /// # Errors
    /// The helper was not started with such files.
    pub fn task(&self) -> io::Result<Vec<u8>> {
        self.0[0].end(usize::MAX)
    }

    /// In the helper: hands back a document. `count` is how many it has handed back before; all but the last one are forgotten in time.
    ///
    /// # Errors
    /// No memory.
    pub fn hand_back(&self, count: usize, document: &[u8]) -> io::Result<()> {
        self.0[(count + 1) % 2].replace(document)
    }

    /// What is there when the helper has ended: its last two documents, of which one may be cut short, or the task.
    ///
    /// # Errors
    /// No memory.
    pub fn found(&self) -> io::Result<[Vec<u8>; 2]> {
        Ok([self.0[0].end(usize::MAX)?, self.0[1].end(usize::MAX)?])
    }

    /// Makes them the standard input and output of a command.
    pub(super) fn become_those_of(&self, command: &mut Command) -> io::Result<()> {
        command.stdin(self.0[0].shared()?).stdout(self.0[1].shared()?);
        Ok(())
    }
}

/// A file in memory that no folder names: it is gone with the last who holds it, and programs that are started do not inherit it.
#[derive(Debug)]
pub(super) struct MemoryFile(File);

impl MemoryFile {
    /// A new one, empty.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: the name ends with a NUL and is only read.
        let fd = unsafe { libc::memfd_create(c"sidestep-output".as_ptr(), libc::MFD_CLOEXEC) };
        owned(fd).map(|fd| Self(fd.into()))
    }

    /// The same file by another descriptor.
    pub(super) fn shared(&self) -> io::Result<OwnedFd> {
        self.0.try_clone().map(OwnedFd::from)
    }

    /// Its length; 0 if the kernel does not say.
    pub(super) fn bytes(&self) -> u64 {
        self.0.metadata().map_or(0, |about| about.len())
    }

    /// Its last `bytes_max` bytes.
    pub(super) fn end(&self, bytes_max: usize) -> io::Result<Vec<u8>> {
        let bytes = self.bytes();
        let mut text = vec![0_u8; usize::try_from(bytes).unwrap_or(usize::MAX).min(bytes_max)];
        let from = bytes - text.len() as u64;
        let read = self.0.read_at(&mut text, from)?;
        text.truncate(read);
        Ok(text)
    }

    /// Makes a hole of what lies before its last `bytes_max` bytes, once that is of some size.
    pub(super) fn forget_all_but(&self, bytes_max: usize) {
        let over = self.bytes().saturating_sub(bytes_max as u64).cast_signed();
        if over > 0 {
            let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the descriptor is open, and fallocate takes numbers only. Where it fails memory stays taken, as before.
            unsafe { libc::fallocate(self.0.as_raw_fd(), how, 0, over) };
        }
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.write_all_at(bytes, 0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::live::{Ending, run_helper};

    fn found_after(script: &str) -> (Ending, [Vec<u8>; 2]) {
        let handover = Handover::new(b"task").expect("files in memory");
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let limit = Duration::from_secs(60);
        let run = run_helper(command, &handover, limit, limit, &mut |_| Duration::from_secs(1))
            .expect("sh is there");
        (run.ending, handover.found().expect("files in memory"))
    }

    #[test]
    fn a_helper_that_is_killed_leaves_what_it_had_handed_back() {
        let (ending, found) = found_after("cat; kill -9 $$");
        assert_eq!((ending, found), (Ending::Signal(9), [b"task".to_vec(), b"task".to_vec()]));
    }

    #[test]
    fn documents_are_handed_back_in_turn_and_the_last_is_whole() {
        let files = Handover::new(b"task").expect("files in memory");
        for (count, document) in ["a long first one", "second", "third"].into_iter().enumerate() {
            files.hand_back(count, document.as_bytes()).expect("memory is left");
            let found = files.found().expect("files in memory");
            assert_eq!(found[(count + 1) % 2], document.as_bytes());
        }
        assert_eq!(files.found().expect("files in memory"), [b"second".to_vec(), b"third".to_vec()]);
    }
}
