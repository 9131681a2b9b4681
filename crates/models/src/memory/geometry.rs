//! What decides which level serves an access: sizes, ways, entries, and who reads page tables from where.

/// More cache levels than this no machine has that we know of.
pub const LEVELS_MAX: usize = 4;

/// When a cache takes a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// On its way from below to the core.
    OnMiss,
    /// When the level above throws it out; a hit moves it up (a victim cache).
    OnEviction,
}

/// One cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheGeometry {
    /// Number of sets.
    pub sets: usize,
    /// Lines per set.
    pub ways: usize,
    /// When it takes a line; the first level takes it on a miss.
    pub fill: Fill,
}

/// One translation buffer for base pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TlbGeometry {
    /// Number of sets; 1 if fully associative.
    pub sets: usize,
    /// Entries per set.
    pub ways: usize,
}

/// How page tables are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PageTableReads {
    /// Upper levels from the page-walk cache where it has them, all else through the data caches.
    Cached,
    /// As `cached`, but the last level from memory at every walk.
    LastUncached,
    /// Every level from memory at every walk.
    AllUncached,
}

/// Everything that decides which level serves an access.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Bytes of a line; a power of two.
    pub line_bytes: u64,
    /// Bytes of a page; a power of two.
    pub page_bytes: u64,
    /// Caches, nearest first; at most `LEVELS_MAX`.
    pub caches: Vec<CacheGeometry>,
    /// First-level translation buffer.
    pub first_tlb: TlbGeometry,
    /// Second-level translation buffer; both keep what a walk brings.
    pub second_tlb: TlbGeometry,
    /// Entries of upper page-table levels that the walker keeps; 0 for none.
    pub walk_cache_entries: usize,
    /// Index of the cache from which the walker reads: 1 for the second level.
    pub walker_reads_from: usize,
    /// Levels of the page table.
    pub page_table_levels: u32,
    /// How page tables are read.
    pub page_table_reads: PageTableReads,
    /// A prefetch stream ends where a block of this many lines ends; a power of two.
    pub stream_stop_lines: u64,
}
