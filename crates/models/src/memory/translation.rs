//! From pages to frames: two translation buffers, and the entries of the page table that a walk must read.

use super::cache::LruSets;
use super::geometry::Geometry;

/// Bits of a page number that one level of an x86 page table resolves: 512 entries of 8 bytes.
/// AMD64 APM vol. 2 (24593), long-mode page translation.
const BITS_PER_LEVEL: u32 = 9;
/// Bytes of an entry. Same source.
const ENTRY_BYTES: u64 = 8;
/// Where page tables lie: above all that a program touches.
const TABLES_START: u64 = 1 << 37;
/// Room for the table of one level: 2^27 pages of data, 512 GiB.
const TABLE_BYTES: u64 = 1 << 30;

/// Who knew the frame of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    First,
    Second,
    Nowhere,
}

/// Both translation buffers and the walker's own cache.
#[derive(Debug, Clone)]
pub(super) struct Translation {
    first: LruSets,
    second: LruSets,
    upper_entries: LruSets,
    levels: u32,
    line_bytes: u64,
    last_page: u32,
}

impl Translation {
    pub(super) fn new(geometry: &Geometry) -> Self {
        assert!((1..=5).contains(&geometry.page_table_levels), "x86 page tables have one to five levels");
        Self {
            first: LruSets::new(geometry.first_tlb.sets, geometry.first_tlb.ways),
            second: LruSets::new(geometry.second_tlb.sets, geometry.second_tlb.ways),
            upper_entries: LruSets::new(1, geometry.walk_cache_entries),
            levels: geometry.page_table_levels,
            line_bytes: geometry.line_bytes,
            last_page: u32::MAX,
        }
    }

    /// Looks a page up; a buffer that misses takes it.
    #[inline]
    pub(super) fn look_up(&mut self, page: u32) -> Found {
        // Using the most recent entry again changes no order of use.
        if page == self.last_page {
            return Found::First;
        }
        self.last_page = page;
        if self.first.touch(page) {
            return Found::First;
        }
        self.first.insert(page);
        if self.second.touch(page) {
            return Found::Second;
        }
        self.second.insert(page);
        Found::Nowhere
    }

    /// The level whose entry the walk reads first, counted from 1 for the last level, given what the walker keeps.
    #[inline]
    pub(super) fn start_of_walk(&mut self, page: u32) -> u32 {
        let held = (2..=self.levels).find(|level| self.upper_entries.touch(self.upper_entry(page, *level)));
        held.map_or(self.levels, |level| level - 1)
    }

    /// Keeps the entry of an upper level.
    #[inline]
    pub(super) fn keep_upper(&mut self, page: u32, level: u32) {
        let entry = self.upper_entry(page, level);
        self.upper_entries.insert(entry);
    }

    #[inline]
    fn upper_entry(&self, page: u32, level: u32) -> u32 {
        // Levels differ in the remainder; a page number has at most 32 - 9 bits left at level 2.
        entry(page, level) as u32 * (self.levels + 1) + level
    }

    /// The line that holds the entry of a page at a level.
    #[inline]
    pub(super) fn table_line(&self, page: u32, level: u32) -> u32 {
        let address = TABLES_START + u64::from(level - 1) * TABLE_BYTES + entry(page, level) * ENTRY_BYTES;
        (address / self.line_bytes) as u32
    }
}

/// Which entry of a level leads to a page.
#[inline]
fn entry(page: u32, level: u32) -> u64 {
    u64::from(page) >> (BITS_PER_LEVEL * (level - 1))
}
