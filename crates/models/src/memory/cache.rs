//! Sets with least-recently-used replacement, for caches and translation buffers alike.
//!
//! A set is a stretch of one flat array, the most recently used number first and empty ways last: taking a number moves
//! the others by one, which for the usual numbers of ways is a few vector moves. No access allocates.

/// Numbers that are compared at once.
const LANES: usize = 8;
/// Number of an empty way.
const EMPTY: u32 = u32::MAX;

/// The number that had to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted(pub u32);

/// Sets of ways that hold numbers (of lines, pages or table entries) below 2^32 - 1.
#[derive(Debug, Clone)]
pub struct LruSets {
    numbers: Vec<u32>,
    ways: usize,
    sets: u32,
    /// `sets` - 1 if that selects the set by masking.
    mask: Option<u32>,
}

impl LruSets {
    /// Empty sets; `ways` may be 0, which holds nothing.
    pub fn new(sets: usize, ways: usize) -> Self {
        assert!(sets > 0 && u32::try_from(sets).is_ok(), "a cache has sets, and fewer than 2^32");
        Self {
            numbers: vec![EMPTY; sets * ways],
            ways,
            sets: sets as u32,
            mask: sets.is_power_of_two().then_some(sets as u32 - 1),
        }
    }

    #[inline]
    fn set(&mut self, number: u32) -> &mut [u32] {
        let set = match self.mask {
            Some(mask) => number & mask,
            None => number % self.sets,
        };
        let first = set as usize * self.ways;
        &mut self.numbers[first..first + self.ways]
    }

    /// True if `number` is held; it becomes the most recently used.
    #[inline]
    pub fn touch(&mut self, number: u32) -> bool {
        let set = self.set(number);
        if set.first() == Some(&number) {
            return true;
        }
        match position(set, number) {
            Some(place) => {
                set.copy_within(..place, 1);
                set[0] = number;
                true
            }
            None => false,
        }
    }

    /// True if `number` was held; it is no longer.
    #[inline]
    pub fn remove(&mut self, number: u32) -> bool {
        let set = self.set(number);
        match position(set, number) {
            Some(place) => {
                set.copy_within(place + 1.., place);
                set[set.len() - 1] = EMPTY;
                true
            }
            None => false,
        }
    }

    /// Takes a number that is not held; the least recently used of its set makes room.
    #[inline]
    pub fn insert(&mut self, number: u32) -> Option<Evicted> {
        debug_assert!(number != EMPTY, "numbers stay below 2^32 - 1");
        let set = self.set(number);
        let Some(last) = set.last().copied() else { return Some(Evicted(number)) };
        shift(set);
        set[0] = number;
        (last != EMPTY).then_some(Evicted(last))
    }
}

/// Where `number` is, if it is there.
#[inline]
fn position(set: &[u32], number: u32) -> Option<usize> {
    let (chunks, rest) = set.as_chunks::<LANES>();
    for (index, chunk) in chunks.iter().enumerate() {
        // Without an early end the compiler compares all lanes at once.
        if chunk.iter().fold(0, |any, held| any | u32::from(*held == number)) != 0 {
            let lane = chunk.iter().position(|held| *held == number)?;
            return Some(index * LANES + lane);
        }
    }
    let lane = rest.iter().position(|held| *held == number)?;
    Some(chunks.len() * LANES + lane)
}

/// Moves all numbers by one place towards the end.
#[inline]
fn shift(set: &mut [u32]) {
    /// Of a length that the compiler knows: vector moves instead of a call.
    fn known<const WAYS: usize>(set: &mut [u32]) {
        let set: &mut [u32; WAYS] = set.try_into().expect("the caller asked for this length");
        set.copy_within(..WAYS - 1, 1);
    }
    match set.len() {
        2 => known::<2>(set),
        4 => known::<4>(set),
        8 => known::<8>(set),
        16 => known::<16>(set),
        32 => known::<32>(set),
        48 => known::<48>(set),
        length => set.copy_within(..length - 1, 1),
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
        assert_eq!(sets.insert(6), Some(Evicted(1)));
    }

    #[test]
    fn any_number_of_ways_and_sets_holds_exactly_that_many() {
        for (sets, ways) in [(1, 1), (1, 48), (3, 11), (128, 4), (5, 32), (7, 8), (2, 16), (64, 2)] {
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
}
