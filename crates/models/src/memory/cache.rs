//! Sets with least-recently-used replacement, for caches and translation buffers alike.
//!
//! Each way has a number and the time of its last use, in flat arrays that are searched eight at a time; no access
//! allocates. Ways are filled up to a multiple of eight with ways that never hold anything.

/// Ways that are searched at once.
const LANES: usize = 8;
/// Number of an empty way.
const EMPTY: u32 = u32::MAX;
/// Time of an empty way: before all others.
const NEVER: u32 = 0;
/// Time of a way that only fills up the lanes: after all others, so that it is never chosen.
const BEYOND: u32 = u32::MAX;

/// The number that had to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted(pub u32);

#[derive(Debug, Clone, Copy)]
struct Group {
    numbers: [u32; LANES],
    used: [u32; LANES],
}

/// Sets of ways that hold numbers (of lines, pages or table entries) below 2^32 - 1.
#[derive(Debug, Clone)]
pub struct LruSets {
    groups: Vec<Group>,
    groups_per_set: usize,
    sets: u32,
    /// `sets` - 1 if that selects the set by masking.
    mask: Option<u32>,
    now: u32,
}

impl LruSets {
    /// Empty sets; `ways` may be 0, which holds nothing.
    pub fn new(sets: usize, ways: usize) -> Self {
        assert!(sets > 0 && u32::try_from(sets).is_ok(), "a cache has sets, and fewer than 2^32");
        let groups_per_set = ways.div_ceil(LANES);
        let mut one_set = Vec::with_capacity(groups_per_set);
        for group in 0..groups_per_set {
            let mut used = [BEYOND; LANES];
            used[..(ways - group * LANES).min(LANES)].fill(NEVER);
            one_set.push(Group { numbers: [EMPTY; LANES], used });
        }
        Self {
            groups: one_set.repeat(sets),
            groups_per_set,
            sets: sets as u32,
            mask: sets.is_power_of_two().then_some(sets as u32 - 1),
            now: NEVER,
        }
    }

    #[inline]
    fn first_group(&self, number: u32) -> usize {
        let set = match self.mask {
            Some(mask) => number & mask,
            None => number % self.sets,
        };
        set as usize * self.groups_per_set
    }

    #[inline]
    fn tick(&mut self) -> u32 {
        if self.now >= BEYOND - 1 {
            self.renumber();
        }
        self.now += 1;
        self.now
    }

    #[inline]
    fn find(&mut self, number: u32) -> Option<(&mut Group, usize)> {
        let first = self.first_group(number);
        for group in &mut self.groups[first..first + self.groups_per_set] {
            let mut hits = 0_u32;
            for (lane, held) in group.numbers.iter().enumerate() {
                hits |= u32::from(*held == number) << lane;
            }
            if hits != 0 {
                return Some((group, hits.trailing_zeros() as usize));
            }
        }
        None
    }

    /// True if `number` is held; it becomes the most recently used.
    #[inline]
    pub fn touch(&mut self, number: u32) -> bool {
        let now = self.tick();
        match self.find(number) {
            Some((group, lane)) => {
                group.used[lane % LANES] = now;
                true
            }
            None => false,
        }
    }

    /// True if `number` was held; it is no longer.
    #[inline]
    pub fn remove(&mut self, number: u32) -> bool {
        match self.find(number) {
            Some((group, lane)) => {
                group.numbers[lane % LANES] = EMPTY;
                group.used[lane % LANES] = NEVER;
                true
            }
            None => false,
        }
    }

    /// Takes a number that is not held; the least recently used of its set makes room.
    #[inline]
    pub fn insert(&mut self, number: u32) -> Option<Evicted> {
        debug_assert!(number != EMPTY, "numbers stay below 2^32 - 1");
        if self.groups_per_set == 0 {
            return Some(Evicted(number));
        }
        let now = self.tick();
        let first = self.first_group(number);
        let set = &mut self.groups[first..first + self.groups_per_set];
        let (mut oldest, mut place) = (BEYOND, 0);
        for (index, group) in set.iter().enumerate() {
            let least = group.used.iter().fold(BEYOND, |least, used| least.min(*used));
            if least < oldest {
                (oldest, place) = (least, index);
            }
        }
        let group = &mut set[place];
        let mut matches = 0_u32;
        for (lane, used) in group.used.iter().enumerate() {
            matches |= u32::from(*used == oldest) << lane;
        }
        let lane = matches.trailing_zeros() as usize % LANES;
        let evicted = group.numbers[lane];
        group.numbers[lane] = number;
        group.used[lane] = now;
        (evicted != EMPTY).then_some(Evicted(evicted))
    }

    /// Times begin anew, in the same order within each set.
    #[cold]
    fn renumber(&mut self) {
        let mut latest = NEVER;
        for set in self.groups.chunks_mut(self.groups_per_set.max(1)) {
            let times = |set: &[Group]| {
                let mut times: Vec<u32> = set.iter().flat_map(|group| group.used).collect();
                times.retain(|time| *time != NEVER && *time != BEYOND);
                times.sort_unstable();
                times
            };
            let sorted = times(set);
            for time in set.iter_mut().flat_map(|group| &mut group.used) {
                if let Ok(rank) = sorted.binary_search(time) {
                    *time = rank as u32 + 1;
                }
            }
            latest = latest.max(sorted.len() as u32);
        }
        self.now = latest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_makes_room() {
        let mut sets = LruSets::new(1, 3);
        assert_eq!([1, 2, 3].map(|number| sets.insert(number)), [None; 3]);
        assert!(sets.touch(1));
        assert_eq!(sets.insert(4), Some(Evicted(2)));
        assert!(!sets.touch(2) && sets.touch(3) && sets.touch(4));
        assert!(sets.remove(4) && !sets.remove(4));
        assert_eq!(sets.insert(5), None);
    }

    #[test]
    fn any_number_of_ways_and_sets_holds_exactly_that_many() {
        for (sets, ways) in [(1, 1), (1, 48), (3, 11), (128, 4), (5, 32), (7, 8)] {
            let mut cache = LruSets::new(sets, ways);
            let capacity = (sets * ways) as u32;
            assert!((0..capacity).all(|number| cache.insert(number).is_none()));
            assert!((0..capacity).all(|number| cache.touch(number)));
            assert_eq!(cache.insert(capacity), Some(Evicted(capacity % sets as u32)));
        }
    }

    #[test]
    fn no_way_holds_nothing() {
        let mut sets = LruSets::new(1, 0);
        assert_eq!(sets.insert(1), Some(Evicted(1)));
        assert!(!sets.touch(1) && !sets.remove(1));
    }

    #[test]
    fn the_order_of_use_survives_the_end_of_time() {
        let mut sets = LruSets::new(2, 3);
        for number in [0, 2, 4, 1] {
            sets.insert(number);
        }
        sets.now = BEYOND - 2;
        assert!(sets.touch(0));
        assert!(sets.touch(2));
        assert_eq!(sets.insert(6), Some(Evicted(4)));
        assert_eq!(sets.insert(8), Some(Evicted(0)));
        assert!(sets.touch(1));
    }
}
