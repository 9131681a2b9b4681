//! A recorded machine with a state folder beside it; steps of writer and disk in one count, of which one fails, or all from one on;
//! and a disk whose steps they are.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use host::{Disk, StateFolder, SystemWriterError, Target};
use toggles::{JOURNAL_NAME, Journal, Owner, decode};

/// A tree that stands for `/`, and a folder for the journal.
pub(crate) struct Recorded(tempfile::TempDir);

impl Recorded {
    pub(crate) fn new() -> Self {
        let recorded = Self(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(recorded.state()).expect("a folder");
        recorded
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    pub(crate) fn disk(&self) -> StateFolder {
        StateFolder::new(&self.state())
    }

    pub(crate) fn journal(&self) -> Option<Journal> {
        let bytes = fs::read(self.state().join(JOURNAL_NAME)).ok()?;
        Some(decode(&bytes).expect("never a half journal"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.tree().join(path);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.tree().join(path)).expect("a file of the tree")
    }

    /// A thread as `/proc` shows it.
    pub(crate) fn start_thread(&self, thread: &Task<'_>, cpus: &str) {
        let Task { process, thread, parent, name, flags, start_ticks } = thread;
        let (folder, zeros) = (format!("proc/{process}/task/{thread}"), "0 ".repeat(12));
        let stat = format!("{thread} ({name}) S {parent} 1 1 0 -1 {flags} {zeros}{start_ticks} 0\n");
        self.write(&format!("{folder}/stat"), &stat);
        self.bind(*process, *thread, cpus);
    }

    pub(crate) fn bind(&self, process: u32, thread: u32, cpus: &str) {
        let status = format!("proc/{process}/task/{thread}/status");
        self.write(&status, &format!("Name:\ta\nCpus_allowed_list:\t{cpus}\nMems_allowed:\t1\n"));
    }

    pub(crate) fn bound(&self, process: u32, thread: u32) -> String {
        let text = self.read(&format!("proc/{process}/task/{thread}/status"));
        text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).expect("the line").to_owned()
    }
}

/// Who a thread is.
pub(crate) struct Task<'a> {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) parent: u32,
    pub(crate) name: &'a str,
    pub(crate) flags: u64,
    pub(crate) start_ticks: u64,
}

/// Who runs an experiment that is none of ours.
pub(crate) fn owner() -> Owner {
    Owner { boot_id: "boot".to_owned(), pid: 1, start_ticks: 1 }
}

/// What happens at a step, counted over writer and disk.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) done: Cell<usize>,
    pub(crate) fails_at: Cell<usize>,
    pub(crate) dies_at: Cell<usize>,
}

impl Steps {
    /// Of which one fails, and which all fail from another on.
    pub(crate) fn of(fails_at: usize, dies_at: usize) -> Rc<Self> {
        Rc::new(Self { done: Cell::new(0), fails_at: Cell::new(fails_at), dies_at: Cell::new(dies_at) })
    }

    pub(crate) fn step_of_read(&self, target: &Target) -> Result<(), SystemWriterError> {
        self.step().map_err(|source| SystemWriterError::Read { target: target.clone(), source })
    }

    pub(crate) fn step_of_write(&self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        self.step().map_err(|source| refused(target, value, source))
    }

    pub(crate) fn step_of_bindings(&self) -> Result<(), SystemWriterError> {
        self.step().map_err(|source| SystemWriterError::Bindings { source })
    }

    pub(crate) fn step(&self) -> io::Result<()> {
        self.done.set(self.done.get() + 1);
        let is_dead = self.dies_at.get() != 0 && self.done.get() >= self.dies_at.get();
        if is_dead || self.done.get() == self.fails_at.get() {
            return Err(io::Error::other("made to fail"));
        }
        Ok(())
    }
}

/// A write that the kernel refuses.
pub(crate) fn refused(target: &Target, value: &str, source: io::Error) -> SystemWriterError {
    SystemWriterError::Write { target: target.clone(), value: value.to_owned(), source }
}

/// A disk whose every step may be the one.
#[derive(Debug)]
pub(crate) struct FaultyDisk(pub(crate) StateFolder, pub(crate) Rc<Steps>);

impl Disk for FaultyDisk {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.1.step()?;
        self.0.read(name)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.1.step()?;
        self.0.write(name, bytes)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.1.step()?;
        self.0.sync(name)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.1.step()?;
        self.0.rename(from, to)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.1.step()?;
        self.0.remove(name)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.1.step()?;
        self.0.sync_names()
    }
}
