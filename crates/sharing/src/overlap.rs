//! How much pairs of threads have in common: the overlap of the memory they touch, with its uncertainty.
//!
//! overlap of two threads = sum over segments of the smaller of the two shares of their touches there
//! of it written = the chance that of two touches there, one of each thread, at least one writes
//!
//! The overlap is 1 for threads that touch the same in the same proportions, 0 for strangers. Its interval is that of as many
//! successes in as many trials as the thread with fewer touches has (Clopper and Pearson). Where that has none, the overlap is
//! unknown.

use record::{SharedAmount, SharingMatrix};
use stats::{Interval, clopper_pearson};

use crate::segment::{Segment, Use};

/// With fewer touches than this of either thread the overlap is hardly known: one of nothing would be compatible with 0.3.
pub const TOUCHES_FEW: u64 = 10;
/// Of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Both matrices of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlaps {
    /// Where one of the two writes.
    pub write_shared: SharingMatrix,
    /// Where both read.
    pub read_shared: SharingMatrix,
}

/// Sums over segments, for each pair of threads.
struct Sums {
    threads: usize,
    totals: Vec<u64>,
    written: Vec<f64>,
    read: Vec<f64>,
}

/// The overlaps of `threads` threads in these segments.
pub fn overlaps(segments: &[Segment], threads: usize) -> Overlaps {
    let mut totals = vec![0; threads];
    for one in segments.iter().flat_map(|segment| &segment.uses) {
        totals[one.thread] += one.total();
    }
    let mut sums =
        Sums { threads, totals, written: vec![0.0; threads * threads], read: vec![0.0; threads * threads] };
    for segment in segments {
        for (at, first) in segment.uses.iter().enumerate() {
            for second in &segment.uses[..at] {
                sums.add(first, second);
            }
        }
    }
    Overlaps {
        write_shared: SharingMatrix::from_fn(threads, |one, other| sums.amount(&sums.written, one, other)),
        read_shared: SharingMatrix::from_fn(threads, |one, other| sums.amount(&sums.read, one, other)),
    }
}

impl Sums {
    fn add(&mut self, first: &Use, second: &Use) {
        let share = |one: &Use| one.total() as f64 / self.totals[one.thread] as f64;
        let reading = |one: &Use| one.reads as f64 / one.total() as f64;
        let common = share(first).min(share(second));
        let both_read = reading(first) * reading(second);
        for place in
            [first.thread * self.threads + second.thread, second.thread * self.threads + first.thread]
        {
            self.written[place] += common * (1.0 - both_read);
            self.read[place] += common * both_read;
        }
    }

    fn amount(&self, sums: &[f64], one: usize, other: usize) -> Option<SharedAmount> {
        let trials = self.totals[one].min(self.totals[other]) as usize;
        if trials == 0 {
            return None;
        }
        let value = sums[one * self.threads + other].clamp(0.0, 1.0);
        let successes = value * trials as f64;
        // Part of a success widens the interval to both sides.
        let low = clopper_pearson(successes.floor() as usize, trials, CONFIDENCE)?.low;
        let high = clopper_pearson(successes.ceil() as usize, trials, CONFIDENCE)?.high;
        Some(SharedAmount { value, interval: Interval { low, high } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(uses: &[(usize, u64, u64)]) -> Segment {
        let uses = uses.iter().map(|(thread, reads, writes)| Use {
            thread: *thread,
            reads: *reads,
            writes: *writes,
        });
        Segment { extent: 0, start: 0, end: 1, uses: uses.collect() }
    }

    fn value(matrix: &SharingMatrix, one: usize, other: usize) -> Option<f64> {
        assert_eq!(matrix.get(one, other), matrix.get(other, one));
        matrix.get(one, other).map(|amount| amount.value)
    }

    #[test]
    fn an_overlap_is_the_smaller_share_and_divides_into_written_and_read() {
        let segments = [
            segment(&[(0, 10, 0), (1, 0, 30), (2, 10, 0)]),
            segment(&[(0, 10, 0)]),
            segment(&[(1, 0, 10)]),
            segment(&[(3, 9, 0)]),
        ];
        let found = overlaps(&segments, 5);
        assert_eq!(value(&found.write_shared, 0, 1), Some(0.5));
        assert_eq!(value(&found.read_shared, 0, 1), Some(0.0));
        assert_eq!(value(&found.write_shared, 0, 2), Some(0.0));
        assert_eq!(value(&found.read_shared, 0, 2), Some(0.5));
        assert_eq!(value(&found.read_shared, 0, 3), Some(0.0));
        assert_eq!(value(&found.read_shared, 0, 4), None, "it touched nothing");
        assert_eq!(value(&found.read_shared, 0, 0), None);
    }

    #[test]
    fn the_interval_holds_the_value_and_narrows_with_touches() {
        let width = |scale: u64| {
            let found = overlaps(&[segment(&[(0, scale, 0), (1, 0, scale)]), segment(&[(0, scale, 0)])], 2);
            let amount = found.write_shared.get(0, 1).expect("touches enough");
            assert!(amount.interval.contains(amount.value));
            amount.interval.half_width()
        };
        assert!(width(1000) < width(10) / 3.0);
    }
}
