//! Memory cut into stretches that the same threads touch in the same proportions.
//!
//! Bins of one size are too small where samples are few and too large where data of different threads lie side by side.
//! So the cut is taken that explains the touches best at the least cost: each stretch has the log likelihood of one distribution over
//! threads, and pays for what describes it (Schwarz's criterion: half the logarithm of the number of touches that tell a share, and
//! twice that of all for a place). With more samples the stretches become finer by themselves. What is far apart, or of different mappings, is never joined.

use crate::touch::{Touch, Touches};

/// What is nobody's to divide: a cache line. It is 64 bytes on every x86-64 CPU so far, and only samples of
/// x86 are decoded.
pub const LINE_BYTES: u64 = 64;
/// Touches further apart than this are of different things, even in one mapping: the largest block that allocators cut from a
/// common arena rather than map alone is below it by default (glibc, `M_MMAP_THRESHOLD`, 128 KiB, sliding).
const GAP_BYTES: u64 = 1 << 20;
/// The best of all cuts of so many units takes some milliseconds; it grows with their square.
const UNITS_MAX: usize = 1024;

/// What one thread did in a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Use {
    /// Counted from 0.
    pub thread: usize,
    /// Touches that only read.
    pub reads: u64,
    /// Touches that write.
    pub writes: u64,
}

impl Use {
    /// All touches.
    pub fn total(&self) -> u64 {
        self.reads + self.writes
    }
}

/// A stretch of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The extent of its first touch.
    pub extent: usize,
    /// First place that was touched.
    pub start: u64,
    /// The place behind the last that was touched.
    pub end: u64,
    /// By thread.
    pub uses: Vec<Use>,
}

impl Segment {
    /// Touches of all threads but the one with most of them.
    pub(super) fn common(&self) -> u64 {
        let totals = || self.uses.iter().map(Use::total);
        totals().sum::<u64>() - totals().max().unwrap_or(0)
    }

    /// Takes in the one behind it.
    fn append(&mut self, next: &Self) {
        self.uses = together(&self.uses, &next.uses);
        self.end = self.end.max(next.end);
    }
}

/// Cuts all that was touched into stretches, by object and place.
pub fn segments(touches: &Touches) -> Vec<Segment> {
    let mut sorted: Vec<&Touch> = touches.touches.iter().collect();
    sorted.sort_by_key(|touch| (touches.extents[touch.extent].object, touch.place, touch.thread));
    let prices = Prices::of(sorted.len());
    let mut found = Vec::new();
    for piece in sorted.chunk_by(|before, after| belong_together(touches, before, after)) {
        found.extend(cut(without_cuts_in_own(lines(piece)), &prices));
    }
    found
}

fn belong_together(touches: &Touches, before: &Touch, after: &Touch) -> bool {
    let [first, second] = [before, after].map(|touch| &touches.extents[touch.extent]);
    first.object == second.object
        && after.place - before.place <= GAP_BYTES
        && (before.extent == after.extent || after.place < first.end && second.start <= before.place)
}

/// A segment per line that was touched.
fn lines(piece: &[&Touch]) -> Vec<Segment> {
    let of_line = |touches: &[&Touch]| {
        let mut uses: Vec<Use> = Vec::new();
        for touch in touches {
            let (reads, writes) = if touch.writes { (0, 1) } else { (1, 0) };
            uses = together(&uses, &[Use { thread: touch.thread, reads, writes }]);
        }
        let end = touches.iter().map(|touch| touch.place.saturating_add(touch.bytes.max(1).into())).max();
        let start = touches[0].place;
        Segment { extent: touches[0].extent, start, end: end.unwrap_or(start), uses }
    };
    piece.chunk_by(|one, other| one.place / LINE_BYTES == other.place / LINE_BYTES).map(of_line).collect()
}

/// The sums, by thread.
fn together(one: &[Use], other: &[Use]) -> Vec<Use> {
    let mut sums = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    loop {
        let next = match (one.peek(), other.peek()) {
            (Some(left), Some(right)) if left.thread == right.thread => {
                let sum = Use {
                    thread: left.thread,
                    reads: left.reads + right.reads,
                    writes: left.writes + right.writes,
                };
                one.next();
                other.next();
                sum
            }
            (Some(left), right) if right.is_none_or(|right| left.thread < right.thread) => {
                let sum = **left;
                one.next();
                sum
            }
            (_, Some(right)) => {
                let sum = **right;
                other.next();
                sum
            }
            _ => return sums,
        };
        sums.push(next);
    }
}

/// Units that one thread alone touches and that lie side by side, as one: a cut between them is never the best, as the likelihood
/// of both sides together is convex in the place of the cut, so that one of the two ends is at least as good.
fn without_cuts_in_own(lines: Vec<Segment>) -> Vec<Segment> {
    let mut units: Vec<Segment> = Vec::with_capacity(lines.len());
    for line in lines {
        let owner = |unit: &Segment| (unit.uses.len() == 1).then(|| unit.uses[0].thread);
        match units.last_mut() {
            Some(last) if owner(last).is_some() && owner(last) == owner(&line) => last.append(&line),
            _ => units.push(line),
        }
    }
    units
}

/// Cuts a piece: the best of all cuts if it has no more than [`UNITS_MAX`] units. One with more is cut in parts of that many, and
/// what comes of them again, until nothing is joined any more.
fn cut(mut units: Vec<Segment>, prices: &Prices) -> Vec<Segment> {
    loop {
        let before = units.len();
        units = units.chunks(UNITS_MAX).flat_map(|part| best_cut(part, prices)).collect();
        if before <= UNITS_MAX || units.len() == before {
            return units;
        }
    }
}

/// The cut of these units with the least cost, by dynamic programming over where the last stretch begins. Joining neighbours, the most
/// alike first, would be faster and falls into traps: threads that touch a block by turns become runs of the one and of the other, no
/// two of which are worth joining, though all together are.
fn best_cut(units: &[Segment], prices: &Prices) -> Vec<Segment> {
    // The least cost of the first so many units, and where their last stretch begins.
    let mut least = vec![(f64::INFINITY, 0); units.len() + 1];
    least[0].0 = 0.0;
    let threads = units.iter().flat_map(|unit| &unit.uses).map(|one| one.thread + 1).max().unwrap_or(0);
    for start in 0..units.len() {
        let mut stretch = Stretch::new(threads, prices);
        for (end, unit) in units.iter().enumerate().skip(start) {
            stretch.add(&unit.uses);
            let cost = least[start].0 + stretch.cost();
            if cost < least[end + 1].0 {
                least[end + 1] = (cost, start);
            }
        }
    }
    let mut found = Vec::new();
    let mut end = units.len();
    while end > 0 {
        let start = least[end].1;
        let mut stretch = units[start].clone();
        units[start + 1..end].iter().for_each(|unit| stretch.append(unit));
        found.push(stretch);
        end = start;
    }
    found.reverse();
    found
}

/// Touches by thread, and what they cost as one stretch.
struct Stretch<'a> {
    prices: &'a Prices,
    counts: Vec<usize>,
    threads: usize,
    touches: usize,
    /// Sum over threads of count x logarithm of count.
    logarithms: f64,
}

impl<'a> Stretch<'a> {
    fn new(threads: usize, prices: &'a Prices) -> Self {
        Self { prices, counts: vec![0; threads], threads: 0, touches: 0, logarithms: 0.0 }
    }

    fn add(&mut self, uses: &[Use]) {
        for one in uses {
            let count = &mut self.counts[one.thread];
            self.threads += usize::from(*count == 0);
            self.logarithms -= self.prices.times_logarithm[*count];
            *count += one.total() as usize;
            self.logarithms += self.prices.times_logarithm[*count];
            self.touches += one.total() as usize;
        }
    }

    /// The log likelihood under the stretch's own shares, negative, and the price of what describes it: the place where it begins, as
    /// any of all the touches could have been it, and a share for each thread but one, which is known as well as the touches of the
    /// stretch tell it.
    fn cost(&self) -> f64 {
        let shares = self.threads.saturating_sub(1) as f64;
        let prices = self.prices;
        prices.times_logarithm[self.touches] - self.logarithms
            + prices.place
            + shares * (self.touches as f64).ln() / 2.0
    }
}

/// What a cut is priced by.
struct Prices {
    /// Of a place where a stretch begins.
    place: f64,
    /// Each number of touches times its logarithm.
    times_logarithm: Vec<f64>,
}

impl Prices {
    fn of(touches: usize) -> Self {
        let times_logarithm = |count: usize| count as f64 * (count.max(1) as f64).ln();
        Self {
            place: (touches.max(1) as f64).ln(),
            times_logarithm: (0..=touches).map(times_logarithm).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::touch::{Extent, Object};

    /// Touches of one mapping: thread, place, and whether it writes.
    fn touches(list: &[(usize, u64, bool)]) -> Touches {
        let touch = |(thread, place, writes): &(usize, u64, bool)| Touch {
            thread: *thread,
            extent: 0,
            place: *place,
            bytes: 8,
            reads: true,
            writes: *writes,
        };
        let extent = Extent { end: u64::MAX, ..Extent::default() };
        Touches {
            objects: vec![Object::Process(1)],
            extents: vec![extent],
            touches: list.iter().map(touch).collect(),
        }
    }

    /// First place, end, and the touches of each thread.
    type Cut = (u64, u64, Vec<(usize, u64)>);

    fn cut(list: &[(usize, u64, bool)]) -> Vec<Cut> {
        let uses = |segment: &Segment| segment.uses.iter().map(|one| (one.thread, one.total())).collect();
        segments(&touches(list)).iter().map(|one| (one.start, one.end, uses(one))).collect()
    }

    #[test]
    fn a_block_of_one_thread_ends_where_that_of_another_begins() {
        let list: Vec<_> = (0..40).map(|at| (usize::from(at >= 20), at * 4096, false)).collect();
        assert_eq!(
            cut(&list),
            [(0, 19 * 4096 + 8, vec![(0, 20)]), (20 * 4096, 39 * 4096 + 8, vec![(1, 20)])]
        );
    }

    #[test]
    fn a_block_of_two_threads_is_one_and_not_many() {
        let list: Vec<_> = (0..40).map(|at| (at as usize % 2, at * 4096, false)).collect();
        assert_eq!(cut(&list), [(0, 39 * 4096 + 8, vec![(0, 20), (1, 20)])]);
    }

    /// Runs of three, no two of which are worth joining, by what a thousand touches elsewhere make of the price.
    #[test]
    fn a_block_that_two_threads_touch_in_runs_is_one() {
        let elsewhere = 1 << 30;
        let runs = (0..12).map(|at| (at as usize / 3 % 2, at * 4096, false));
        let neighbours = (12..24).map(|at| (2 + at as usize / 3 % 2, at * 4096, false));
        let others = (0..1000).map(|at| (4, elsewhere + at * 64, false));
        let list: Vec<_> = runs.chain(neighbours).chain(others).collect();
        let found = cut(&list);
        assert_eq!(
            found[..2],
            [(0, 11 * 4096 + 8, vec![(0, 6), (1, 6)]), (12 * 4096, 23 * 4096 + 8, vec![(2, 6), (3, 6)])]
        );
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn more_lines_than_are_cut_at_once_are_still_one_block() {
        let lines = 3 * UNITS_MAX as u64 + 7;
        let list: Vec<_> = (0..lines).map(|at| (at as usize % 2, at * LINE_BYTES, false)).collect();
        let uses = vec![(0, lines.div_ceil(2)), (1, lines / 2)];
        assert_eq!(cut(&list), [(0, (lines - 1) * LINE_BYTES + 8, uses)]);
    }

    #[test]
    fn what_is_far_apart_is_not_joined() {
        assert_eq!(cut(&[(0, 0, false), (0, GAP_BYTES + 1, false)]).len(), 2);
        assert_eq!(cut(&[(0, 0, false), (0, GAP_BYTES, false)]).len(), 1);
        assert_eq!(cut(&[]), []);
        assert_eq!(cut(&[(0, u64::MAX, true)]), [(u64::MAX, u64::MAX, vec![(0, 1)])]);
    }

    #[test]
    fn reads_and_writes_are_counted_by_thread() {
        let found = segments(&touches(&[(1, 0, true), (0, 8, false), (1, 16, false)]));
        let both = [Use { thread: 0, reads: 1, writes: 0 }, Use { thread: 1, reads: 1, writes: 1 }];
        assert_eq!(found[0].uses, both);
    }

    /// The order of joining never loses or invents a touch.
    #[test]
    fn every_touch_is_in_one_segment() {
        let mut random = stats::Random::new(5);
        let list: Vec<_> =
            (0..2000).map(|_| (random.below(7), random.below(1 << 22) as u64, random.bool())).collect();
        let counted: u64 = segments(&touches(&list)).iter().flat_map(|one| &one.uses).map(Use::total).sum();
        assert_eq!(counted, 2000);
    }
}
