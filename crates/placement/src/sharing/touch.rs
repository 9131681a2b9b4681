//! What was seen: which thread touched which memory.

/// Memory that has one name for all who map it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Object {
    /// The private memory of a process, by its addresses.
    Process(u32),
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
            known.object == object && known.start == extent.start && known.path == extent.path
        };
        if let Some(known) = self.extents.iter().position(same) {
            let grown = &mut self.extents[known];
            grown.end = grown.end.max(extent.end);
            return known;
        }
        self.extents.push(Extent { object, ..extent });
        self.extents.len() - 1
    }
}
