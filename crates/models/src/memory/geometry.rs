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

/// Where the pages of a program lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PagePlacement {
    /// One behind the other, as the program sees them.
    #[default]
    Contiguous,
    /// All over memory, without order: what a system that has run for a while gives.
    Scattered,
}

/// Bits of an address that a program may use: page tables lie above.
const ADDRESS_BITS: u32 = 37;
/// A prime near the golden ratio of 2^32, which mixes by multiplying (Knuth, The Art of Computer Programming, vol. 3, 6.4).
const SCATTER_FACTOR: u64 = 0x9e37_79b1;

impl PagePlacement {
    /// The frame of a page of so many bytes, a power of two; different pages have different frames.
    #[inline]
    pub fn frame(self, page: u64, page_bytes: u64) -> u64 {
        match self {
            Self::Contiguous => page,
            Self::Scattered => {
                let bits = ADDRESS_BITS.saturating_sub(page_bytes.trailing_zeros()).max(2);
                let mask = (1_u64 << bits) - 1;
                // The high bits of a product are the mixed ones; the low ones choose the set. Each step can be undone.
                let mixed = page.wrapping_mul(SCATTER_FACTOR) & mask;
                (mixed ^ (mixed >> (bits / 2))).wrapping_mul(SCATTER_FACTOR) & mask
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn scattered_pages_have_frames_of_their_own_and_no_neighbours() {
        let frames: Vec<u64> = (0..20_000).map(|page| PagePlacement::Scattered.frame(page, 4096)).collect();
        assert_eq!(frames.iter().collect::<HashSet<_>>().len(), frames.len());
        assert!(frames.iter().all(|frame| *frame < 1 << (ADDRESS_BITS - 12)));
        let neighbours = frames.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(neighbours < 5, "{neighbours}");
    }
}
