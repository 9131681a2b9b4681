//! The memory of a machine as lists: slow, and plain enough to be right by reading.

use models::memory::{Counters, Fill, Geometry, PageTableReads, RUN_LINES_MAX};

/// Sets of numbers, each set with the most recently used first.
struct Lists {
    sets: Vec<Vec<u64>>,
    ways: usize,
}

impl Lists {
    fn new(sets: usize, ways: usize) -> Self {
        Self { sets: vec![Vec::new(); sets], ways }
    }

    fn set(&mut self, number: u64) -> &mut Vec<u64> {
        let index = number as usize % self.sets.len();
        &mut self.sets[index]
    }

    fn holds(&mut self, number: u64) -> bool {
        self.set(number).contains(&number)
    }

    fn take_out(&mut self, number: u64) {
        self.set(number).retain(|held| *held != number);
    }

    /// Puts the number in front, whether it was there or not; returns what fell off the end.
    fn put_in_front(&mut self, number: u64) -> Option<u64> {
        self.take_out(number);
        let ways = self.ways;
        let set = self.set(number);
        set.insert(0, number);
        if set.len() > ways { set.pop() } else { None }
    }
}

pub(crate) struct Naive {
    geometry: Geometry,
    caches: Vec<Lists>,
    first_tlb: Lists,
    second_tlb: Lists,
    kept_upper: Lists,
    last_missed: Option<u64>,
    run: usize,
    pub(crate) counters: Counters,
}

impl Naive {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let lists = |tlb: models::memory::TlbGeometry| Lists::new(tlb.sets, tlb.ways);
        Self {
            caches: geometry.caches.iter().map(|cache| Lists::new(cache.sets, cache.ways)).collect(),
            first_tlb: lists(geometry.first_tlb),
            second_tlb: lists(geometry.second_tlb),
            kept_upper: Lists::new(1, geometry.walk_cache_entries),
            geometry: geometry.clone(),
            last_missed: None,
            run: 0,
            counters: Counters::default(),
        }
    }

    pub(crate) fn access(&mut self, address: u64) {
        self.counters.accesses += 1;
        self.translate(address / self.geometry.page_bytes);
        let line = address / self.geometry.line_bytes;
        let place = self.fetch(line, 0);
        if place == 0 {
            self.counters.served[0][0] += 1;
            return;
        }
        let block = |line: u64| line / self.geometry.stream_stop_lines;
        let goes_on =
            self.last_missed.is_some_and(|last| last.abs_diff(line) == 1 && block(last) == block(line));
        self.run = if goes_on { self.run + 1 } else { 0 };
        self.last_missed = Some(line);
        self.counters.served[place][self.run.min(RUN_LINES_MAX)] += 1;
    }

    fn translate(&mut self, page: u64) {
        let (first, second) = (self.first_tlb.holds(page), self.second_tlb.holds(page));
        self.first_tlb.put_in_front(page);
        if first {
            return;
        }
        self.second_tlb.put_in_front(page);
        if second {
            self.counters.second_tlb_hits += 1;
            return;
        }
        self.counters.walks += 1;
        let levels = u64::from(self.geometry.page_table_levels);
        match self.geometry.page_table_reads {
            PageTableReads::AllUncached => self.counters.uncached_reads += levels,
            PageTableReads::LastUncached => {
                self.read_upper_levels(page, levels);
                self.counters.uncached_reads += 1;
            }
            PageTableReads::Cached => {
                self.read_upper_levels(page, levels);
                self.read_entry(page, 1);
            }
        }
    }

    /// From the lowest level that the walker keeps downwards, or from the root.
    fn read_upper_levels(&mut self, page: u64, levels: u64) {
        let mut missing = Vec::new();
        for level in 2..=levels {
            let name = Self::name(page, level);
            if self.kept_upper.holds(name) {
                self.kept_upper.put_in_front(name);
                break;
            }
            missing.push(level);
        }
        for level in missing.into_iter().rev() {
            self.read_entry(page, level);
            self.kept_upper.put_in_front(Self::name(page, level));
        }
    }

    fn name(page: u64, level: u64) -> u64 {
        Self::entry(page, level) * 100 + level
    }

    fn entry(page: u64, level: u64) -> u64 {
        page / 512_u64.pow(level as u32 - 1)
    }

    fn read_entry(&mut self, page: u64, level: u64) {
        let tables = 128 * (1_u64 << 30) + (level - 1) * (1 << 30);
        let address = tables + 8 * Self::entry(page, level);
        let place = self.fetch(address / self.geometry.line_bytes, self.geometry.walker_reads_from);
        self.counters.table_reads[place] += 1;
    }

    /// Brings a line into the cache `top` and says where it was.
    fn fetch(&mut self, line: u64, top: usize) -> usize {
        let behind = self.caches.len();
        let place = (top..behind).find(|index| self.caches[*index].holds(line)).unwrap_or(behind);
        if place == top {
            self.caches[top].put_in_front(line);
            return place;
        }
        if place < behind {
            match self.geometry.caches[place].fill {
                Fill::OnMiss => drop(self.caches[place].put_in_front(line)),
                Fill::OnEviction => self.caches[place].take_out(line),
            }
        }
        for index in (top..place).rev() {
            if index == top || self.geometry.caches[index].fill == Fill::OnMiss {
                let thrown_out = self.caches[index].put_in_front(line);
                self.pass_on(index + 1, thrown_out);
            }
        }
        place
    }

    fn pass_on(&mut self, index: usize, line: Option<u64>) {
        let (Some(line), true) = (line, index < self.caches.len()) else { return };
        if self.geometry.caches[index].fill == Fill::OnEviction {
            let thrown_out = self.caches[index].put_in_front(line);
            self.pass_on(index + 1, thrown_out);
        }
    }
}
