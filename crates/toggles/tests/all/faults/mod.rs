//! Steps of writer and disk in one count, of which one fails, or all from one on; and a disk whose steps they are.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use host::{Disk, StateFolder};

/// What happens at a step, counted over writer and disk.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) done: Cell<usize>,
    pub(crate) fails_at: Cell<usize>,
    pub(crate) dies_at: Cell<usize>,
}

impl Steps {
    pub(crate) fn step(&self) -> io::Result<()> {
        self.done.set(self.done.get() + 1);
        let is_dead = self.dies_at.get() != 0 && self.done.get() >= self.dies_at.get();
        if is_dead || self.done.get() == self.fails_at.get() {
            return Err(io::Error::other("made to fail"));
        }
        Ok(())
    }
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
