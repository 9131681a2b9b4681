//! What was seen: which thread touched which memory.

use std::collections::HashMap;

/// Memory that has one name for all who map it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Object {
    /// The private memory of a process, by its addresses.
    Process(u32),
    /// What a process has of a file that it maps for itself and wrote to, by offsets in the file.
    Copy {
        /// The process.
        pid: u32,
        /// The device, as the kernel writes it.
        device: String,
        /// The inode on it.
        inode: u64,
    },
    /// A file or shared memory, by offsets in it.
    File {
        /// The device, as the kernel writes it.
        device: String,
        /// The inode on it.
        inode: u64,
    },
}

/// A part of an object that was mapped as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extent {
    /// Counted from 0 in [`Touches::objects`].
    pub object: usize,
    /// First place in the object.
    pub start: u64,
    /// The place behind the last.
    pub end: u64,
    /// The process in which it was seen first.
    pub pid: u32,
    /// Its address there.
    pub address: u64,
    /// The file, a name in brackets, or nothing.
    pub path: String,
    /// It may be written to.
    pub is_writable: bool,
    /// What is written there is a copy of the process's own.
    pub is_private: bool,
}

/// One access of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// Counted from 0 in the order in which threads were seen.
    pub thread: usize,
    /// Counted from 0 in [`Touches::extents`].
    pub extent: usize,
    /// The place in the extent's object.
    pub place: u64,
    /// How many bytes.
    pub bytes: u32,
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
}

/// All that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Touches {
    /// Each once.
    pub objects: Vec<Object>,
    /// Each once.
    pub extents: Vec<Extent>,
    /// In the order of time.
    pub touches: Vec<Touch>,
}

impl Touches {
    /// The number of an extent, new or grown.
    pub fn extent(&mut self, object: Object, extent: Extent) -> usize {
        let object = self.objects.iter().position(|known| *known == object).unwrap_or_else(|| {
            self.objects.push(object);
            self.objects.len() - 1
        });
        let same = |known: &Extent| {
            known.object == object
                && known.start == extent.start
                && known.path == extent.path
                && known.is_private == extent.is_private
        };
        if let Some(known) = self.extents.iter().position(same) {
            let grown = &mut self.extents[known];
            grown.end = grown.end.max(extent.end);
            return known;
        }
        self.extents.push(Extent { object, ..extent });
        self.extents.len() - 1
    }

    /// Gives each process its own of what it maps for itself, once a write was seen there: the mapping may be read-only by now,
    /// as what a loader relocates is, but pages that were written are copies. `pid_of` has the process of each thread.
    pub fn part_copies(&mut self, pid_of: &[u32]) {
        let mut is_copied = vec![false; self.extents.len()];
        for touch in self.touches.iter().filter(|touch| touch.writes) {
            is_copied[touch.extent] = self.extents[touch.extent].is_private;
        }
        let mut own: HashMap<(usize, u32), usize> = HashMap::new();
        for at in 0..self.touches.len() {
            let Touch { thread, extent, .. } = self.touches[at];
            let pid = pid_of[thread];
            let whole = &self.extents[extent];
            let Object::File { device, inode } = &self.objects[whole.object] else { continue };
            if !is_copied[extent] {
                continue;
            }
            let (object, part) = (Object::Copy { pid, device: device.clone(), inode: *inode }, whole.clone());
            self.touches[at].extent = *own.entry((extent, pid)).or_insert_with(|| self.extent(object, part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes of a thread each at the same place of a file: the first reads or writes, the second reads.
    fn objects_of(is_private: bool, writes: bool) -> [Object; 2] {
        let object = Object::File { device: "08:01".to_owned(), inode: 7 };
        let mut found = Touches::default();
        let extent = Extent { end: 0x1000, path: "/lib/ld.so".to_owned(), is_private, ..Extent::default() };
        let extent = found.extent(object, extent);
        for (thread, writes) in [(0, writes), (1, false)] {
            found.touches.push(Touch { thread, extent, place: 64, bytes: 8, reads: !writes, writes });
        }
        found.part_copies(&[11, 12]);
        [0, 1].map(|at| found.objects[found.extents[found.touches[at].extent].object].clone())
    }

    #[test]
    fn what_a_process_writes_in_a_mapping_of_its_own_is_no_memory_of_another() {
        let copy = |pid| Object::Copy { pid, device: "08:01".to_owned(), inode: 7 };
        assert_eq!(objects_of(true, true), [copy(11), copy(12)]);
    }

    #[test]
    fn code_that_nobody_writes_and_shared_mappings_stay_one_for_all() {
        for (is_private, writes) in [(true, false), (false, true)] {
            let [one, other] = objects_of(is_private, writes);
            assert_eq!(one, other);
            assert!(matches!(one, Object::File { .. }));
        }
    }
}
