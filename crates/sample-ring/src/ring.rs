//! The slots.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Words of 8 bytes in a slot: the largest entry, and a whole number of cache lines.
pub const SLOT_WORDS: usize = 40;
/// Slots: 2.5 MiB, or 32 threads of 250 samples per second each, unread for a second.
pub const SLOTS: usize = 8192;
/// Slots that are tried before a sample is given up.
const TRIES: u64 = 16;
/// "sidestep" and the version of the layout: a library of another version writes nothing.
const MAGIC: u64 = u64::from_le_bytes(*b"sidestp1");

const FREE: u32 = 0;
const FILLING: u32 = 1;
const READY: u32 = 2;

/// All of the shared memory. Zeroed memory is a new ring.
#[derive(Debug)]
#[repr(C)]
pub struct SampleRing {
    magic: AtomicU64,
    period_ns: AtomicU64,
    is_closed: AtomicU32,
    unwatched: AtomicU32,
    lost: AtomicU64,
    next: AtomicU64,
    states: [AtomicU32; SLOTS],
    slots: [[AtomicU64; SLOT_WORDS]; SLOTS],
}

impl SampleRing {
    /// A ring that nobody has opened yet, for a static: it is larger than some stacks.
    #[expect(clippy::large_stack_arrays, reason = "it is made by the compiler")]
    #[expect(clippy::new_without_default, reason = "a default would be made on a stack")]
    pub const fn new() -> Self {
        Self {
            magic: AtomicU64::new(0),
            period_ns: AtomicU64::new(0),
            is_closed: AtomicU32::new(0),
            unwatched: AtomicU32::new(0),
            lost: AtomicU64::new(0),
            next: AtomicU64::new(0),
            states: [const { AtomicU32::new(FREE) }; SLOTS],
            slots: [const { [const { AtomicU64::new(0) }; SLOT_WORDS] }; SLOTS],
        }
    }

    /// Lets samples come, one per so much CPU time of a thread.
    pub fn open(&self, period_ns: u64) {
        self.period_ns.store(period_ns, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Nobody reads any more.
    pub fn close(&self) {
        self.is_closed.store(1, Ordering::Release);
    }

    /// Somebody reads again: threads that begin from now on are sampled, earlier ones whose timer has not ticked meanwhile too.
    pub fn reopen(&self) {
        self.is_closed.store(0, Ordering::Release);
    }

    /// The CPU time between two samples of a thread in nanoseconds; `None` if this is no ring, or a closed one.
    pub fn period_ns(&self) -> Option<u64> {
        let is_open =
            self.magic.load(Ordering::Acquire) == MAGIC && self.is_closed.load(Ordering::Acquire) == 0;
        is_open.then(|| self.period_ns.load(Ordering::Relaxed))
    }

    /// Counts a thread that cannot be sampled.
    pub fn count_unwatched(&self) {
        self.unwatched.fetch_add(1, Ordering::Relaxed);
    }

    /// Threads that could not be sampled.
    pub fn unwatched(&self) -> u32 {
        self.unwatched.load(Ordering::Relaxed)
    }

    /// Entries that found no free slot since this was last asked.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    /// Writes an entry into a free slot, or counts it as lost. Takes no lock and allocates nothing.
    pub fn put(&self, words: &[u64; SLOT_WORDS]) {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        for try_index in 0..TRIES {
            let place = (first.wrapping_add(try_index) % SLOTS as u64) as usize;
            let (state, slot) = (&self.states[place], &self.slots[place]);
            if state.compare_exchange(FREE, FILLING, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                for (to, word) in slot.iter().zip(words) {
                    to.store(*word, Ordering::Relaxed);
                }
                state.store(READY, Ordering::Release);
                return;
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Hands over what is ready, in no order, and frees its slots.
    pub fn take(&self, mut take: impl FnMut(&[u64; SLOT_WORDS])) {
        for (state, slot) in self.states.iter().zip(&self.slots) {
            if state.load(Ordering::Acquire) == READY {
                let words = std::array::from_fn(|word| slot[word].load(Ordering::Relaxed));
                state.store(FREE, Ordering::Release);
                take(&words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_only_between_opening_and_closing() {
        static RING: SampleRing = SampleRing::new();
        let ring = &RING;
        assert_eq!(ring.period_ns(), None, "nobody has opened it");
        ring.open(4_000_000);
        assert_eq!(ring.period_ns(), Some(4_000_000));
        ring.close();
        assert_eq!(ring.period_ns(), None);
    }

    #[test]
    fn what_finds_no_room_is_counted_and_room_comes_back() {
        static RING: SampleRing = SampleRing::new();
        let ring = &RING;
        for number in 0..SLOTS as u64 + 5 {
            ring.put(&[number; SLOT_WORDS]);
        }
        let mut taken = Vec::new();
        ring.take(|words| taken.push(words[0]));
        taken.sort_unstable();
        assert_eq!(taken, (0..SLOTS as u64).collect::<Vec<_>>());
        assert_eq!((ring.take_lost(), ring.take_lost()), (5, 0));
        ring.put(&[7; SLOT_WORDS]);
        ring.take(|words| taken.push(words[39]));
        assert_eq!(taken.last(), Some(&7));
    }

    #[test]
    fn a_writer_that_dies_in_the_middle_costs_its_slot_alone() {
        static RING: SampleRing = SampleRing::new();
        let ring = &RING;
        ring.states[3].store(FILLING, Ordering::Relaxed);
        for number in 0..2 * SLOTS as u64 {
            ring.put(&[number; SLOT_WORDS]);
            if number % 1000 == 0 {
                ring.take(|_| {});
            }
        }
        assert_eq!(ring.take_lost(), 0);
    }

    #[test]
    fn many_writers_and_a_reader_lose_nothing_uncounted_and_tear_nothing() {
        const WRITERS: u64 = 4;
        const EACH: u64 = 20_000;
        static RING: SampleRing = SampleRing::new();
        let ring = &RING;
        let mut taken = 0;
        let left = AtomicU64::new(WRITERS);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let left = &left;
                scope.spawn(move || {
                    for number in 0..EACH {
                        ring.put(&[writer << 32 | number; SLOT_WORDS]);
                    }
                    left.fetch_sub(1, Ordering::Release);
                });
            }
            let mut is_last = false;
            while !is_last {
                is_last = left.load(Ordering::Acquire) == 0;
                ring.take(|words| {
                    assert!(words.iter().all(|word| *word == words[0]), "torn: {words:?}");
                    taken += 1;
                });
            }
        });
        assert_eq!(taken + ring.take_lost(), WRITERS * EACH);
    }
}
