//! A disk in memory that can be killed at any step, and that forgets in a power cut what was not synced.

use std::collections::BTreeMap;
use std::io;

use host::Disk;

/// The bytes of a file, and whether they would survive a power cut.
#[derive(Debug, Clone)]
struct Inode {
    bytes: Vec<u8>,
    is_synced: bool,
}

/// The disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryDisk {
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Steps that still happen; `None` for all.
    pub(crate) steps_left: Option<usize>,
    /// Steps that happened.
    pub(crate) steps: usize,
}

impl MemoryDisk {
    fn step(&mut self) -> io::Result<()> {
        if let Some(left) = &mut self.steps_left {
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("killed"))?;
        }
        self.steps += 1;
        Ok(())
    }

    /// What was not synced is half written. Names that were not synced are the old or the new ones.
    pub(crate) fn lose_power(&mut self, keeps_new_names: bool) {
        for inode in self.inodes.iter_mut().filter(|inode| !inode.is_synced) {
            inode.bytes.truncate(inode.bytes.len() / 2);
        }
        if !keeps_new_names {
            self.names = self.durable_names.clone();
        }
        self.durable_names = self.names.clone();
        self.steps_left = None;
    }

    /// All files.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.names.iter().map(|(name, index)| (name, &self.inodes[*index].bytes))
    }

    /// Somebody else changes a file.
    pub(crate) fn spoil(&mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(index) = self.names.get(name) {
            change(&mut self.inodes[*index].bytes);
        }
    }
}

impl Disk for MemoryDisk {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.step()?;
        Ok(self.names.get(name).map(|index| self.inodes[*index].bytes.clone()))
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let stepped = self.step();
        // A write that breaks off leaves half of it.
        let written = if stepped.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        if stepped.is_ok() || self.steps_left == Some(0) {
            let inode = Inode { bytes: written.to_vec(), is_synced: false };
            if let Some(index) = self.names.get(name) {
                self.inodes[*index] = inode;
            } else {
                self.names.insert(name.to_owned(), self.inodes.len());
                self.inodes.push(inode);
            }
        }
        stepped
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.step()?;
        let index = *self.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        self.inodes[index].is_synced = true;
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.step()?;
        let index = self.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        self.names.insert(to.to_owned(), index);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.step()?;
        self.names.remove(name).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.step()?;
        self.durable_names = self.names.clone();
        Ok(())
    }
}
