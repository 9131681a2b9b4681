//! The trace-driven simulator: what each access finds where, as counts.

use super::cache::{Evicted, LruSets};
use super::geometry::{Fill, Geometry, LEVELS_MAX, PageTableReads};
use super::translation::{Found, Translation};

/// Places that can serve an access: the caches and, behind them, memory.
pub const PLACES: usize = LEVELS_MAX + 1;
/// Streams are counted apart up to this many lines since their start; longer ones together.
pub const RUN_LINES_MAX: usize = 31;

/// What a trace did. Index `n` of an array is the cache of that index; the one behind the last cache is memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Accesses of the program.
    pub accesses: u64,
    /// Accesses by the place that served them and by how many neighbouring lines had missed just before: 0 for hits of
    /// the first cache and for the first line of a stream.
    pub served: [[u64; RUN_LINES_MAX + 1]; PLACES],
    /// Pages that the first translation buffer did not know, and the second did.
    pub second_tlb_hits: u64,
    /// Pages that neither knew.
    pub walks: u64,
    /// Entries of page tables read through the caches.
    pub table_reads: [u64; PLACES],
    /// Entries of page tables read from memory past all caches.
    pub uncached_reads: u64,
}

/// The state of caches and translation buffers while a trace runs.
#[derive(Debug, Clone)]
pub struct Simulator {
    caches: Vec<LruSets>,
    fills: Vec<Fill>,
    translation: Translation,
    reads: PageTableReads,
    walker_reads_from: usize,
    levels: u32,
    line_shift: u32,
    page_shift: u32,
    stop_shift: u32,
    last_missed: u32,
    run_lines: usize,
    counters: Counters,
}

impl Simulator {
    /// A machine whose caches are empty.
    pub fn new(geometry: &Geometry) -> Self {
        let powers = [geometry.line_bytes, geometry.page_bytes, geometry.stream_stop_lines];
        assert!(powers.iter().all(|size| size.is_power_of_two()), "lines, pages and stops are powers of two");
        assert!((1..=LEVELS_MAX).contains(&geometry.caches.len()), "one to four caches");
        Self {
            caches: geometry.caches.iter().map(|cache| LruSets::new(cache.sets, cache.ways)).collect(),
            fills: geometry.caches.iter().map(|cache| cache.fill).collect(),
            translation: Translation::new(geometry),
            reads: geometry.page_table_reads,
            walker_reads_from: geometry.walker_reads_from.min(geometry.caches.len() - 1),
            levels: geometry.page_table_levels,
            line_shift: geometry.line_bytes.trailing_zeros(),
            page_shift: geometry.page_bytes.trailing_zeros(),
            stop_shift: geometry.stream_stop_lines.trailing_zeros(),
            last_missed: u32::MAX,
            run_lines: 0,
            counters: Counters::default(),
        }
    }

    /// One access of the program; addresses are below 128 GiB, and memory is where the program sees it.
    #[inline]
    pub fn access(&mut self, address: u64) {
        debug_assert!(address < 1 << 37, "page tables lie above");
        self.counters.accesses += 1;
        let page = (address >> self.page_shift) as u32;
        match self.translation.look_up(page) {
            Found::First => {}
            Found::Second => self.counters.second_tlb_hits += 1,
            Found::Nowhere => self.walk(page),
        }
        let line = (address >> self.line_shift) as u32;
        if self.caches[0].touch(line) {
            self.counters.served[0][0] += 1;
            return;
        }
        let place = self.bring(line, 0);
        self.follow_stream(line);
        self.counters.served[place][self.run_lines] += 1;
    }

    /// The counts since the start or the last call.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }

    /// Finds a line that `caches[top]` lacks, moves it there, and says which place had it.
    #[inline]
    fn bring(&mut self, line: u32, top: usize) -> usize {
        let below = self.caches.len();
        let mut place = top + 1;
        while place < below {
            let held = match self.fills[place] {
                Fill::OnMiss => self.caches[place].touch(line),
                Fill::OnEviction => self.caches[place].remove(line),
            };
            if held {
                break;
            }
            place += 1;
        }
        for index in (top..place.min(below)).rev() {
            if index == top || self.fills[index] == Fill::OnMiss {
                let evicted = self.caches[index].insert(line);
                self.push_down(index + 1, evicted);
            }
        }
        place
    }

    /// Gives what one cache threw out to the next, as far down as caches take it.
    #[inline]
    fn push_down(&mut self, from: usize, mut evicted: Option<Evicted>) {
        for index in from..self.caches.len() {
            match evicted {
                Some(Evicted(line)) if self.fills[index] == Fill::OnEviction => {
                    evicted = self.caches[index].insert(line);
                }
                _ => return,
            }
        }
    }

    /// Counts the neighbouring lines that missed one after the other within a block of the prefetcher.
    #[inline]
    fn follow_stream(&mut self, line: u32) {
        let neighbour = line.wrapping_sub(self.last_missed) == 1 || self.last_missed.wrapping_sub(line) == 1;
        let same_block = line >> self.stop_shift == self.last_missed >> self.stop_shift;
        self.run_lines = if neighbour && same_block { (self.run_lines + 1).min(RUN_LINES_MAX) } else { 0 };
        self.last_missed = line;
    }

    fn walk(&mut self, page: u32) {
        self.counters.walks += 1;
        if self.reads == PageTableReads::AllUncached {
            self.counters.uncached_reads += u64::from(self.levels);
            return;
        }
        for level in (1..=self.translation.start_of_walk(page)).rev() {
            if level == 1 && self.reads == PageTableReads::LastUncached {
                self.counters.uncached_reads += 1;
                continue;
            }
            let line = self.translation.table_line(page, level);
            let top = self.walker_reads_from;
            let place = if self.caches[top].touch(line) { top } else { self.bring(line, top) };
            self.counters.table_reads[place] += 1;
            if level > 1 {
                self.translation.keep_upper(page, level);
            }
        }
    }
}
