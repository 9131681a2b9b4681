//! Who shares what: the threads of a program, what they touch in common, and what they ask of shared units.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::Interval;

/// Version of the document.
pub const SHARING_SCHEMA: u32 = 1;

/// What was seen of the threads of a program by watching them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sharing {
    /// Version of the document, `SHARING_SCHEMA` when written by this version.
    pub schema: u32,
    /// Wall time of watching, in seconds.
    pub seconds: f64,
    /// Samples asked for, per second of a thread's CPU time.
    pub rate_hz: f64,
    /// Samples taken, of all threads.
    pub samples: u64,
    /// Samples whose instruction touches memory that is not the thread's own stack.
    pub memory_samples: u64,
    /// Samples whose instruction could not be read or decoded.
    pub undecodable: u64,
    /// Samples that the kernel dropped as nobody had taken the earlier ones.
    pub lost: u64,
    /// Samples, or operands of them, that say nothing of sharing, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// The threads; each matrix has their order.
    pub threads: Vec<SharingThread>,
    /// Threads that came to too little CPU time to be listed.
    pub threads_left_out: u64,
    /// Share of the accesses of two threads that meet in the same memory, which one of the two writes: 0 to 1, symmetric.
    pub write_shared: SharingMatrix,
    /// Share of the accesses of two threads that meet in the same memory, which both only read: 0 to 1, symmetric.
    pub read_shared: SharingMatrix,
    /// Times per second that the row's thread wakes the column's; `None` where that could not be seen.
    pub wakes: Option<SharingMatrix>,
    /// Why they could not be seen.
    #[serde(default)]
    pub wakes_refused: Option<String>,
    /// Memory that more than one thread touches, most accesses first.
    pub regions: Vec<SharedRegion>,
    /// CPU time of watching over that of the threads watched; without what the kernel does for each sample.
    pub overhead: Option<f64>,
    /// What this way of looking cannot see, one sentence each.
    pub blind_spots: Vec<String>,
}

/// One thread that was watched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharingThread {
    /// Its number.
    pub tid: u32,
    /// The number of its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Samples taken in it.
    pub samples: u64,
    /// Of these, such that touch memory other than its stack.
    pub memory_samples: u64,
    /// CPU time over the wall time of watching: 1 is a CPU that is always busy.
    pub cpu_share: f64,
    /// What its instructions ask of shared units.
    pub demand: UnitDemand,
    /// For how long it was off its CPU by its own will; `None` where that could not be seen.
    pub idle_gaps: Option<Vec<IdleGaps>>,
    /// How often it came to a CPU, after a wait of its own or another thread's turn; `None` where that could not be seen.
    #[serde(default)]
    pub arrivals: Option<u64>,
}

/// The shares of a thread's samples by the unit its instruction needs; they sum to 1, or are all 0 where nothing was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitDemand {
    /// Integer arithmetic and moves between registers.
    pub integer: f64,
    /// Floating point and SIMD.
    pub floating: f64,
    /// Branches, calls and returns: what keeps fetch and decode busy.
    pub front_end: f64,
    /// Loads and stores of other memory than the stack.
    pub memory: f64,
}

/// Gaps of one length between two times that a thread ran.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleGaps {
    /// They were at least this long, in microseconds.
    pub from_us: f64,
    /// They were shorter than this, in microseconds.
    pub below_us: f64,
    /// How many there were.
    pub count: u64,
}

/// A matrix over threads, by row and column.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharingMatrix {
    /// One row per thread; `None` on the diagonal, and where there are too few samples to tell.
    pub rows: Vec<Vec<Option<SharedAmount>>>,
}

impl SharingMatrix {
    /// A matrix by a function of row and column; the diagonal stays empty.
    pub fn from_fn(threads: usize, amount: impl Fn(usize, usize) -> Option<SharedAmount>) -> Self {
        let cell = |row: usize, column: usize| (row != column).then(|| amount(row, column)).flatten();
        let rows = (0..threads).map(|row| (0..threads).map(|column| cell(row, column)).collect());
        Self { rows: rows.collect() }
    }

    /// One cell; `None` if it is unknown or outside.
    pub fn get(&self, row: usize, column: usize) -> Option<SharedAmount> {
        *self.rows.get(row)?.get(column)?
    }
}

/// How much two threads share, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedAmount {
    /// The best guess.
    pub value: f64,
    /// Interval at 95 %.
    pub interval: Interval,
}

/// A piece of memory that more than one thread touches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedRegion {
    /// `heap`, the symbol or the file there, or `anonymous memory`.
    pub name: String,
    /// What kind of memory.
    pub kind: RegionKind,
    /// The process whose addresses these are.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Who touches it, most accesses first.
    pub users: Vec<RegionUser>,
    /// Lines of 64 bytes in it that several threads touch at addresses of their own, one of them writing.
    pub false_shared_lines: Vec<u64>,
}

/// What kind of memory a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// Memory without a file.
    #[default]
    Anonymous,
    /// The heap of brk(2).
    Heap,
    /// The stack of a thread, not the sampled one's own.
    Stack,
    /// A file, mapped.
    File,
    /// Memory shared between processes.
    SharedMemory,
    /// Data of a program or library.
    ProgramData,
}

/// What one thread does in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegionUser {
    /// The thread, counted from 0 in `Sharing::threads`.
    pub thread: usize,
    /// Samples that read.
    pub reads: u64,
    /// Samples that write.
    pub writes: u64,
}
