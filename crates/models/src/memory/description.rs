//! A machine as a TOML file describes it: each number with its source, or labelled as fitted or assumed.

use machine::{Bytes, Hertz};
use serde::{Deserialize, Serialize};

use super::geometry::{
    CacheGeometry, Fill, Geometry, LEVELS_MAX, PagePlacement, PageTableReads, TlbGeometry,
};
use crate::machine_file::Sourced;

/// One cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CacheDescription {
    /// What it is called: L1.
    pub name: String,
    /// All it holds.
    pub size_bytes: Sourced<Bytes>,
    /// Lines per set.
    pub ways: Sourced<usize>,
    /// When it takes a line.
    pub fill: Sourced<Fill>,
    /// From the load to the use of its result: the part at the core's clock.
    pub core_cycles: Sourced<f64>,
    /// The part at the north bridge's clock.
    pub northbridge_cycles: Sourced<f64>,
    /// Bytes that the way from this cache to the core carries per core cycle; without it, only latency limits.
    pub bytes_per_core_cycle: Option<Sourced<f64>>,
}

/// Translation buffers and the page walk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TranslationDescription {
    /// Bytes of a page.
    pub page_bytes: Bytes,
    /// Entries of the first buffer.
    pub first_entries: Sourced<usize>,
    /// Its ways; as many as entries if fully associative.
    pub first_ways: Sourced<usize>,
    /// Entries of the second buffer.
    pub second_entries: Sourced<usize>,
    /// Its ways.
    pub second_ways: Sourced<usize>,
    /// What a page costs that only the second buffer knows, in core cycles.
    pub second_hit_core_cycles: Sourced<f64>,
    /// Entries of upper page-table levels that the walker keeps.
    pub walk_cache_entries: Sourced<usize>,
    /// The cache that the walker reads from first: 2 for the second level.
    pub walker_reads_from_level: Sourced<usize>,
    /// What a walk costs beside its reads, in core cycles.
    pub walk_core_cycles: Sourced<f64>,
}

/// The stream prefetcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PrefetchDescription {
    /// Lines under way at once while a stream runs.
    pub outstanding_lines: Sourced<f64>,
    /// Lines at the start of a stream that come one at a time.
    pub startup_lines: Sourced<f64>,
    /// A stream ends at each multiple of this address.
    pub stop_bytes: Sourced<Bytes>,
}

/// A workaround and what it does to page walks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkaroundDescription {
    /// What `--workaround` calls it.
    pub id: String,
    /// How page tables are read with it.
    pub page_table_reads: Sourced<PageTableReads>,
    /// One read past all caches.
    pub uncached_read_ns: Sourced<f64>,
}

/// A board with one of these processors: what differs from one to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// What tests call it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// The clock of the core.
    pub core_hz: Sourced<Hertz>,
    /// The clock of the north bridge and the last cache.
    pub northbridge_hz: Sourced<Hertz>,
    /// Levels of the page table that its system keeps in memory.
    pub page_table_levels: Sourced<u32>,
}

/// A machine: all that its predictions depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryMachine {
    /// What the command line calls it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Bytes of a line.
    pub line_bytes: Bytes,
    /// Bytes that the core can load from its first cache per cycle.
    pub load_bytes_per_core_cycle: Sourced<f64>,
    /// From the last cache's answer that it lacks the line to the line from DRAM.
    pub dram_ns: Sourced<f64>,
    /// Caches, nearest first.
    pub cache: Vec<CacheDescription>,
    /// Translation.
    pub translation: TranslationDescription,
    /// The stream prefetcher.
    pub prefetch: PrefetchDescription,
    /// The workaround.
    pub workaround: WorkaroundDescription,
    /// Boards; the first is the machine itself.
    pub board: Vec<Board>,
    /// Where the pages of programs lie.
    #[serde(default)]
    pub page_placement: PagePlacement,
    /// Programs to predict.
    pub test: Vec<super::prediction::Test>,
}

/// Whether a workaround is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Workaround {
    /// It is not.
    Off,
    /// It is.
    On,
}

impl MemoryMachine {
    /// The board of that name.
    pub fn board(&self, name: &str) -> Option<&Board> {
        self.board.iter().find(|board| board.name == name)
    }

    /// What decides on this board which level serves an access.
    pub fn geometry(&self, board: &Board, workaround: Workaround) -> Geometry {
        let line_bytes = self.line_bytes.0;
        let cache = |cache: &CacheDescription| CacheGeometry {
            sets: (cache.size_bytes.value.0 / line_bytes) as usize / cache.ways.value,
            ways: cache.ways.value,
            fill: cache.fill.value,
        };
        let tlb = |entries: usize, ways: usize| TlbGeometry { sets: entries / ways, ways };
        let translation = &self.translation;
        Geometry {
            line_bytes,
            page_bytes: translation.page_bytes.0,
            caches: self.cache.iter().take(LEVELS_MAX).map(cache).collect(),
            first_tlb: tlb(translation.first_entries.value, translation.first_ways.value),
            second_tlb: tlb(translation.second_entries.value, translation.second_ways.value),
            walk_cache_entries: translation.walk_cache_entries.value,
            walker_reads_from: translation.walker_reads_from_level.value.saturating_sub(1),
            page_table_levels: board.page_table_levels.value,
            page_table_reads: match workaround {
                Workaround::Off => PageTableReads::Cached,
                Workaround::On => self.workaround.page_table_reads.value,
            },
            stream_stop_lines: self.prefetch.stop_bytes.value.0 / line_bytes,
        }
    }
}
