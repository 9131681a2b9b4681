//! Who writes to the same pages: first writers of protected pages, added up by pairs of threads.
//!
//! ```text
//! turns  = times that of two threads one or the other was the first to write to a page, and had been, or the other had, before
//! chance = sum over stretches of turns x 2 x share of the one x share of the other
//! mixing = turns in which the page changed hands / chance
//! ```
//!
//! A page that two threads write alike changes hands as often as chance would have it, whatever their rates: mixing is 1. Where each has
//! pages of its own it is 0. More than 1, as by threads that take turns, counts as 1. The interval is that of as many changes in
//! as many turns (Clopper and Pearson), as if the shares were known.

use std::collections::{BTreeMap, BTreeSet};

use machine::counted;
use record::{SharedAmount, SharedWriters, SharingMatrix, WriterPair, WriterVerdict};
use stats::{Interval, clopper_pearson, student_quantile};

use crate::page_choice::pages_of;
use crate::segment::Segment;
use crate::touch::{Object, Touches};

/// Two threads share written memory from this share of their accesses on; below it stands what chance and borders of blocks do.
const CALLED: f64 = 0.01;
/// A thread that was first less often may have come by chance, as by memory that was given back and handed out again.
const FIRST_WRITES_MIN: u64 = 5;
/// From this mixing on pages are both threads'; below it they may have a border in common.
const MIXING_MIN: f64 = 0.1;
/// Of the intervals.
const CONFIDENCE: f64 = 0.95;

/// The first who wrote to a page since it was protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstWrite {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The first address of the page.
    pub page: u64,
}

/// All that was seen of writes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WritesSeen {
    /// In the order of time.
    pub first_writes: Vec<FirstWrite>,
    /// Writes that waited, such that waited again included.
    pub faults: u64,
    /// Times that pages were protected anew.
    pub epochs: u64,
    /// Pages that were protected at least once.
    pub pages: u64,
    /// What single ones cost, in microseconds.
    pub prices_us: Vec<f64>,
    /// Why nothing was seen.
    pub refused: Option<String>,
}

/// What is known of the threads otherwise.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) segments: &'a [Segment],
    pub(super) touches: &'a Touches,
    /// By thread.
    pub(super) tids: &'a [u32],
    pub(super) write_shared: &'a SharingMatrix,
    /// CPU time of the program in seconds.
    pub(super) cpu_s: f64,
}

/// Turns and changes of two threads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    first_writes: [u64; 2],
    turns: u64,
    changes: u64,
    chance: f64,
}

/// Adds up, and judges each pair of threads that touch a stretch in common.
pub(super) fn shared_writers(seen: &WritesSeen, known: &Known<'_>) -> SharedWriters {
    let fault_us = mean(&seen.prices_us);
    let busy = |price: SharedAmount| seen.faults as f64 * price.value / 1e6 / known.cpu_s;
    let found = SharedWriters {
        sentence: String::new(),
        refused: seen.refused.clone(),
        epochs: seen.epochs,
        pages: seen.pages,
        faults: seen.faults,
        fault_us,
        fault_us_count: seen.prices_us.len() as u64,
        overhead: fault_us.filter(|_| known.cpu_s > 0.0).map(busy),
        pairs: if seen.refused.is_none() { pairs(seen, known) } else { Vec::new() },
    };
    SharedWriters { sentence: sentence(&found), ..found }
}

/// The mean with its interval by Student.
fn mean(values: &[f64]) -> Option<SharedAmount> {
    let count = values.len() as f64;
    let degrees = u32::try_from(values.len().checked_sub(2)?).ok()? + 1;
    let value = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|one| (one - value).powi(2)).sum::<f64>() / f64::from(degrees);
    let half = student_quantile(CONFIDENCE, degrees) * (variance / count).sqrt();
    Some(SharedAmount { value, interval: Interval { low: (value - half).max(0.0), high: value + half } })
}

/// Pairs that share written memory, and such as were seen to write by turns.
fn pairs(seen: &WritesSeen, known: &Known<'_>) -> Vec<WriterPair> {
    let mut sums = sums(seen, known);
    let threads = known.tids.len();
    for first in 0..threads {
        for second in first + 1..threads {
            if is_called(known, [first, second]) {
                sums.entry([first, second]).or_default();
            }
        }
    }
    let judged = |(threads, sums): ([usize; 2], Sums)| {
        let mixing = sums.mixing();
        WriterPair {
            threads,
            is_called: is_called(known, threads),
            first_writes: sums.first_writes,
            turns: sums.turns,
            changes: sums.changes,
            mixing,
            verdict: verdict(mixing),
        }
    };
    sums.into_iter().map(judged).filter(|pair| pair.is_called || pair.turns > 0).collect()
}

fn is_called(known: &Known<'_>, [first, second]: [usize; 2]) -> bool {
    known.write_shared.get(first, second).is_some_and(|amount| amount.value >= CALLED)
}

/// Of all pairs that touch a stretch in common.
fn sums(seen: &WritesSeen, known: &Known<'_>) -> BTreeMap<[usize; 2], Sums> {
    let number: BTreeMap<u32, usize> =
        known.tids.iter().enumerate().map(|(index, tid)| (*tid, index)).collect();
    let mut by_page: BTreeMap<(u32, u64), Vec<usize>> = BTreeMap::new();
    for write in &seen.first_writes {
        // Others than the program's own threads write too: the kernel's workers, debuggers.
        if let Some(thread) = number.get(&write.tid) {
            by_page.entry((write.pid, write.page)).or_default().push(*thread);
        }
    }
    let mut sums: BTreeMap<[usize; 2], Sums> = BTreeMap::new();
    // A page on a border is of two stretches, and counts once for a pair that touches both.
    let mut counted = BTreeSet::new();
    for segment in known.segments.iter().filter(|segment| segment.uses.len() > 1) {
        let Object::Process(pid) = &known.touches.objects[known.touches.extents[segment.extent].object]
        else {
            continue;
        };
        let pages = pages_of(segment);
        let written: Vec<_> = by_page.range((*pid, pages.start)..(*pid, pages.end)).collect();
        for (at, second) in segment.uses.iter().enumerate() {
            for first in &segment.uses[..at] {
                let pair = [first.thread.min(second.thread), first.thread.max(second.thread)];
                let fresh = written.iter().filter(|(page, _)| counted.insert((pair, **page)));
                let here = Sums::of(pair, fresh.map(|(_, writers)| writers.as_slice()));
                sums.entry(pair).or_default().add(here);
            }
        }
    }
    sums
}

impl Sums {
    /// Of the pages of one stretch, each with its first writers in the order of time.
    fn of<'a>(pair: [usize; 2], pages: impl Iterator<Item = &'a [usize]>) -> Self {
        let mut sums = Self::default();
        for writers in pages {
            let mut last = None;
            for side in writers.iter().filter_map(|thread| pair.iter().position(|one| one == thread)) {
                sums.first_writes[side] += 1;
                sums.turns += u64::from(last.is_some());
                sums.changes += u64::from(last.is_some_and(|last| last != side));
                last = Some(side);
            }
        }
        let [one, other] = sums.first_writes.map(|count| count as f64);
        let both = (one + other).max(1.0);
        sums.chance = sums.turns as f64 * 2.0 * (one / both) * (other / both);
        sums
    }

    fn add(&mut self, one: Self) {
        for (sum, part) in self.first_writes.iter_mut().zip(one.first_writes) {
            *sum += part;
        }
        self.turns += one.turns;
        self.changes += one.changes;
        self.chance += one.chance;
    }

    /// `None` where too little was seen of one of the two.
    fn mixing(&self) -> Option<SharedAmount> {
        let is_enough = self.first_writes.iter().all(|count| *count >= FIRST_WRITES_MIN) && self.chance > 0.0;
        let ends =
            clopper_pearson(self.changes as usize, self.turns as usize, CONFIDENCE).filter(|_| is_enough)?;
        let over_chance = |share: f64| (share * self.turns as f64 / self.chance).min(1.0);
        let value = (self.changes as f64 / self.chance).min(1.0);
        Some(SharedAmount {
            value,
            interval: Interval { low: over_chance(ends.low), high: over_chance(ends.high) },
        })
    }
}

fn verdict(mixing: Option<SharedAmount>) -> WriterVerdict {
    match mixing {
        Some(mixing) if mixing.interval.low > MIXING_MIN => WriterVerdict::SamePages,
        Some(mixing) if mixing.interval.high < MIXING_MIN => WriterVerdict::OwnPages,
        _ => WriterVerdict::Untold,
    }
}

/// What was found, with the numbers that it rests on.
fn sentence(found: &SharedWriters) -> String {
    if let Some(why) = &found.refused {
        return format!("nothing: {why}");
    }
    let called = || found.pairs.iter().filter(|pair| pair.is_called);
    let count = |verdict| called().filter(|pair| pair.verdict == verdict).count();
    let (all, same) = (called().count(), count(WriterVerdict::SamePages));
    let mut parts = vec![if all == 0 {
        "no two threads were called to share written memory".to_owned()
    } else {
        format!(
            "{same} of {} of threads that share written memory write to the same pages",
            counted(all, "pair")
        )
    }];
    let doubts = count(WriterVerdict::OwnPages);
    if doubts > 0 {
        parts.push(format!("doubtful are {doubts}, of which each thread writes to pages of its own"));
    }
    let untold = count(WriterVerdict::Untold);
    if untold > 0 {
        parts.push(format!("{untold} could not be told"));
    }
    let (writes, pages) = (counted(found.faults as usize, "write"), counted(found.pages as usize, "page"));
    let price = |price: SharedAmount| {
        format!(", {:.0} us each [{:.0}, {:.0}]", price.value, price.interval.low, price.interval.high)
    };
    let price = found.fault_us.map_or_else(String::new, price);
    let overhead = |overhead| format!(", {:.2} % of its CPU time", 100.0 * overhead);
    let overhead = found.overhead.map_or_else(String::new, overhead);
    parts.push(format!("{writes} to {pages} waited{price}{overhead}"));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use stats::Random;

    use super::*;
    use crate::segment::Use;
    use crate::touch::Extent;

    const PAGE: u64 = 4096;
    const PID: u32 = 9;
    const TIDS: [u32; 4] = [10, 11, 12, 13];

    /// A stretch of pages of these threads.
    fn segment(pages: std::ops::Range<u64>, threads: &[usize]) -> Segment {
        let uses = threads.iter().map(|thread| Use { thread: *thread, reads: 1, writes: 1 }).collect();
        Segment { extent: 0, start: pages.start * PAGE, end: pages.end * PAGE, uses }
    }

    fn judged(segments: &[Segment], writes: &[(usize, u64)], called: &[[usize; 2]]) -> SharedWriters {
        let touches = Touches {
            objects: vec![Object::Process(PID)],
            extents: vec![Extent { pid: PID, ..Extent::default() }],
            touches: Vec::new(),
        };
        let first =
            |(thread, page): &(usize, u64)| FirstWrite { pid: PID, tid: TIDS[*thread], page: page * PAGE };
        let seen = WritesSeen {
            first_writes: writes.iter().map(first).collect(),
            faults: writes.len() as u64,
            prices_us: vec![20.0, 30.0, 40.0],
            ..WritesSeen::default()
        };
        let write_shared = SharingMatrix::from_fn(TIDS.len(), |row, column| {
            let is_called = called.contains(&[row.min(column), row.max(column)]);
            is_called.then(|| SharedAmount { value: 0.3, interval: Interval::between(0.2, 0.4) })
        });
        let known =
            Known { segments, touches: &touches, tids: &TIDS, write_shared: &write_shared, cpu_s: 1.0 };
        shared_writers(&seen, &known)
    }

    /// First writes of a thread with this share of all, at pages that `page` chooses.
    fn writes(count: usize, share: f64, page: impl Fn(usize, usize) -> u64) -> Vec<(usize, u64)> {
        let mut random = Random::new(3);
        let mut one = || {
            let thread = usize::from(random.unit() < share);
            (thread, page(thread, random.below(8)))
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn threads_that_write_the_same_pages_are_told_from_such_that_have_their_own() {
        let stretch = [segment(0..16, &[0, 1])];
        let same = |count, share| judged(&stretch, &writes(count, share, |_, place| place as u64), &[[0, 1]]);
        let own = |count, share| {
            judged(&stretch, &writes(count, share, |thread, place| (2 * place + thread) as u64), &[[0, 1]])
        };
        let verdict = |found: &SharedWriters| found.pairs[0].verdict;
        assert_eq!(verdict(&same(100, 0.5)), WriterVerdict::SamePages);
        assert_eq!(verdict(&same(1000, 0.95)), WriterVerdict::SamePages, "rates do not matter");
        assert_eq!(verdict(&own(200, 0.5)), WriterVerdict::OwnPages);
        assert_eq!(verdict(&own(30, 0.5)), WriterVerdict::Untold, "too few to say so");
        assert_eq!(verdict(&same(4, 0.5)), WriterVerdict::Untold);
        assert_eq!(verdict(&same(100, 0.0)), WriterVerdict::Untold, "the other only reads");
        let mixing = same(1000, 0.9).pairs[0].mixing.expect("enough");
        assert!((0.8..=1.0).contains(&mixing.value) && mixing.interval.contains(mixing.value), "{mixing:?}");
        assert_eq!(own(200, 0.5).pairs[0].changes, 0);
    }

    #[test]
    fn a_page_on_a_border_counts_once_and_only_for_threads_that_touch_what_lies_there() {
        let stretches = [
            segment(0..2, &[0, 1]),
            Segment { start: 2 * PAGE - 64, ..segment(1..3, &[0, 1]) },
            segment(4..5, &[2, 3]),
        ];
        let by_turns: Vec<(usize, u64)> = (0..20).map(|turn| (turn % 2, 1)).collect();
        let found = judged(&stretches, &[by_turns, vec![(0, 4), (1, 4)]].concat(), &[[0, 1], [2, 3]]);
        let [pair, other] = &found.pairs[..] else { panic!("{found:?}") };
        assert_eq!((pair.turns, pair.changes, pair.first_writes), (19, 19, [10, 10]));
        assert_eq!((other.turns, other.verdict), (0, WriterVerdict::Untold));
        assert_eq!(pair.mixing.map(|mixing| mixing.value), Some(1.0));
    }

    #[test]
    fn the_sentence_counts_pairs_and_says_what_it_cost() {
        let stretches = [segment(0..1, &[0, 1]), segment(4..5, &[2, 3])];
        let by_turns: Vec<(usize, u64)> = (0..30).map(|turn| (turn % 2, 0)).collect();
        let found = judged(&stretches, &by_turns, &[[0, 1], [2, 3]]);
        assert!(
            found.sentence.starts_with("1 of 2 pairs of threads that share written memory write to the same pages; 1 could not be told; 30 writes to 0 pages waited, 30 us each ["),
            "{}",
            found.sentence
        );
        assert!((found.overhead.expect("CPU time") - 30.0 * 30e-6).abs() < 1e-9);
        let none = judged(&[], &[], &[]);
        assert!(none.sentence.starts_with("no two threads were called"), "{}", none.sentence);
        let refused = WritesSeen { refused: Some("no".to_owned()), ..WritesSeen::default() };
        let nothing = SharingMatrix::default();
        let touches = Touches::default();
        let known = Known { segments: &[], touches: &touches, tids: &[], write_shared: &nothing, cpu_s: 0.0 };
        assert_eq!(shared_writers(&refused, &known).sentence, "nothing: no");
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(13), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_writes_add_up(writes in prop::collection::vec((0_usize..4, 0_u64..8), 0..200)) {
            let stretches = [segment(0..3, &[0, 1, 2]), segment(2..6, &[1, 2, 3])];
            for pair in judged(&stretches, &writes, &[[0, 3]]).pairs {
                prop_assert!(pair.changes <= pair.turns);
                prop_assert!(pair.turns <= pair.first_writes.iter().sum::<u64>());
                if let Some(mixing) = pair.mixing {
                    prop_assert!(0.0 <= mixing.interval.low && mixing.interval.low <= mixing.value);
                    prop_assert!(mixing.value <= mixing.interval.high && mixing.interval.high <= 1.0);
                }
            }
        }
    }
}
