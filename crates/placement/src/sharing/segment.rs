//! Memory cut into stretches that the same threads touch in the same proportions.
//!
//! Bins of one size are too small where samples are few and too large where data of different threads lie side by side.
//! So neighbouring cache lines are joined, the most alike first, as long as one distribution over threads explains both as
//! well as two do: as long as the loss of log likelihood is below what two distributions cost (Schwarz's criterion: half the
//! logarithm of the number of samples for each further parameter). With more samples the stretches become finer by
//! themselves. What is far apart, or of different mappings, is never joined.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::touch::{Touch, Touches};

/// What is nobody's to divide: a cache line. It is 64 bytes on every x86-64 CPU so far.
pub const LINE_BYTES: u64 = 64;
/// Touches further apart than this are of different things, even in one mapping: the largest block that allocators cut from a
/// common arena rather than map alone is below it by default (glibc, `M_MMAP_THRESHOLD`, 128 KiB, sliding).
const GAP_BYTES: u64 = 1 << 20;

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

/// Cuts all that was touched into stretches, by object and place.
pub fn segments(touches: &Touches) -> Vec<Segment> {
    let mut sorted: Vec<&Touch> = touches.touches.iter().collect();
    sorted.sort_by_key(|touch| (touches.extents[touch.extent].object, touch.place, touch.thread));
    let price = (sorted.len().max(2) as f64).ln() / 2.0;
    let mut found = Vec::new();
    for piece in sorted.chunk_by(|before, after| belong_together(touches, before, after)) {
        found.extend(join(lines(piece), price));
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

/// Log likelihood of the threads in a stretch under their own shares.
fn log_likelihood(uses: &[Use]) -> f64 {
    let log = |count: f64| count * count.ln();
    let all: u64 = uses.iter().map(Use::total).sum();
    uses.iter().map(|one| log(one.total() as f64)).sum::<f64>() - log(all as f64)
}

/// What joining costs in likelihood, less what it saves in parameters: below 0 it pays.
fn cost(one: &[Use], other: &[Use], price: f64) -> f64 {
    let joined = together(one, other);
    // A stretch has a share for each thread but one, and a place where it begins, which counts twice, as any of all the
    // samples could have been it.
    let saved = (1 + one.len() + other.len() - joined.len()) as f64;
    log_likelihood(one) + log_likelihood(other) - log_likelihood(&joined) - saved * price
}

/// An offer to join two neighbours; the cheapest is the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    /// The cost as a number that sorts as it does.
    cost: Reverse<i64>,
    left: Reverse<usize>,
    /// Of both when the offer was made: an older one is void.
    versions: [u32; 2],
}

/// A list of neighbours from which segments vanish.
struct Neighbours {
    segments: Vec<Option<Segment>>,
    next: Vec<usize>,
    previous: Vec<usize>,
    versions: Vec<u32>,
    offers: BinaryHeap<Offer>,
    price: f64,
}

impl Neighbours {
    fn offer(&mut self, left: usize) {
        /// Costs are compared to a millionth.
        const STEPS: f64 = 1e6;
        let right = self.next[left];
        let (Some(one), Some(other)) = (
            self.segments.get(left).and_then(Option::as_ref),
            self.segments.get(right).and_then(Option::as_ref),
        ) else {
            return;
        };
        let cost = cost(&one.uses, &other.uses, self.price);
        if cost < 0.0 {
            let versions = [self.versions[left], self.versions[right]];
            self.offers.push(Offer { cost: Reverse((cost * STEPS) as i64), left: Reverse(left), versions });
        }
    }

    fn accept(&mut self, offer: Offer) {
        let left = offer.left.0;
        let right = self.next[left];
        if right >= self.segments.len() || [self.versions[left], self.versions[right]] != offer.versions {
            return;
        }
        let Some(gone) = self.segments[right].take() else { return };
        let Some(kept) = self.segments[left].as_mut() else {
            self.segments[right] = Some(gone);
            return;
        };
        kept.uses = together(&kept.uses, &gone.uses);
        kept.end = kept.end.max(gone.end);
        self.versions[left] += 1;
        self.versions[right] += 1;
        self.next[left] = self.next[right];
        if let Some(previous) = self.previous.get_mut(self.next[left]) {
            *previous = left;
        }
        self.offer(left);
        if left != self.previous[left] {
            self.offer(self.previous[left]);
        }
    }
}

/// Joins neighbours until no two are worth joining.
fn join(lines: Vec<Segment>, price: f64) -> Vec<Segment> {
    let count = lines.len();
    let mut neighbours = Neighbours {
        segments: lines.into_iter().map(Some).collect(),
        next: (1..=count).collect(),
        previous: (0..count).map(|place| place.saturating_sub(1)).collect(),
        versions: vec![0; count],
        offers: BinaryHeap::new(),
        price,
    };
    for left in 0..count {
        neighbours.offer(left);
    }
    while let Some(offer) = neighbours.offers.pop() {
        neighbours.accept(offer);
    }
    neighbours.segments.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::touch::{Extent, Object};

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
            (0..2000).map(|_| (random.below(7), random.below(1 << 22) as u64, random.coin())).collect();
        let counted: u64 = segments(&touches(&list)).iter().flat_map(|one| &one.uses).map(Use::total).sum();
        assert_eq!(counted, 2000);
    }
}
