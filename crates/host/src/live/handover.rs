//! A task for a helper process and what it hands back, in memory that no folder names: whoever is killed, nothing is left behind.
//!
//! Two files of memory are the helper's standard input and output. The first holds the task; when the helper has read it, it writes
//! into both in turn, so that one that is killed while it writes leaves what it wrote before. No prefix of a document may be one.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::answer::owned;

/// The two files, on either side.
#[derive(Debug)]
pub struct Handover([File; 2]);

impl Handover {
    /// Files for a helper, with its task.
    ///
    /// # Errors
    /// No memory, or a kernel without files in it.
    pub fn new(task: &[u8]) -> io::Result<Self> {
        let files = Self([memory_file()?, memory_file()?]);
        files.write(0, task)?;
        Ok(files)
    }

    /// In the helper: those that it was started with.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn inherited() -> io::Result<Self> {
        let own = |fd: BorrowedFd<'_>| Ok::<File, io::Error>(fd.try_clone_to_owned()?.into());
        Ok(Self([own(io::stdin().as_fd())?, own(io::stdout().as_fd())?]))
    }

    /// The task, until the helper has written twice.
    ///
    /// # Errors
    /// The helper was not started with such files.
    pub fn task(&self) -> io::Result<Vec<u8>> {
        contents(&self.0[0])
    }

    /// In the helper: hands back a document. `count` is how many it has handed back before; all but the last one are forgotten in time.
    ///
    /// # Errors
    /// No memory.
    pub fn hand_back(&self, count: usize, document: &[u8]) -> io::Result<()> {
        self.write((count + 1) % 2, document)
    }

    /// What is there when the helper has ended: its last two documents, of which one may be cut short, or the task.
    ///
    /// # Errors
    /// No memory.
    pub fn found(&self) -> io::Result<[Vec<u8>; 2]> {
        Ok([contents(&self.0[0])?, contents(&self.0[1])?])
    }

    /// Makes them the standard input and output of a command.
    pub(super) fn become_those_of(&self, command: &mut Command) -> io::Result<()> {
        command.stdin(self.0[0].try_clone()?).stdout(self.0[1].try_clone()?);
        Ok(())
    }

    fn write(&self, place: usize, bytes: &[u8]) -> io::Result<()> {
        self.0[place].set_len(0)?;
        self.0[place].write_all_at(bytes, 0)
    }
}

fn contents(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A new one, empty, which programs that are started do not inherit.
pub(super) fn memory_file() -> io::Result<File> {
    // SAFETY: the name ends with a NUL and is only read.
    let fd = unsafe { libc::memfd_create(c"sidestep-output".as_ptr(), libc::MFD_CLOEXEC) };
    owned(fd).map(File::from)
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
