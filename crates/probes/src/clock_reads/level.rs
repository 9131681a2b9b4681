//! Which batches count: those beside which the core was ours alone and kept its frequency.
//!
//! The port loop over the multiply chain tells the share of the core, whatever the frequency. The largest share that is seen
//! again and again is taken for the whole core; a batch is *fast* if both readings beside it are near that, *slow* if the core
//! was shared all along, and *unsteady* if the frequency or the share moved from one reading to the other. All is decided
//! after the run, when the level is known best.
//!
//! A core that is ours alone gives the same reading again and again: the best readings lie on a plateau. Where others use it
//! too, each reading finds another share, and the best ones are a slope: it is unknown then whether the whole core was ever
//! seen. On a guest under load 4 to 10, 16 of 22 runs of 5 s had such a plateau, and agreed within 0.2 % on the monotonic
//! clock; three of the other six gave system calls 10 % too expensive. Those without are refused.

use stats::{median, quantile};

use crate::control::ControlReading;

/// The share that counts for the whole core: the best but for one reading in a hundred, which a disturbed multiply chain may
/// have made too good.
const BEST_QUANTILE: f64 = 0.01;
/// A batch is fast if both shares are within this of the best. Between 1.04 and 1.06 no price moved by 0.3 %.
const GATE: f64 = 1.05;
/// So far may frequencies beside a batch lie apart.
const FREQUENCY_MOVED: f64 = 1.02;
/// So far may shares beside a slow batch lie apart.
const SHARE_MOVED: f64 = 1.1;
/// Readings within this of the best share are on a plateau with it; the steps of the coarsest counter seen are 0.2 % of one.
const PLATEAU: f64 = 1.01;
/// Share of the readings within `GATE` that have to be within `PLATEAU`. Seen: 0.72 to 0.93 where the core was ours alone part
/// of the time, 0.18 to 0.29 where it was not; a slope has 0.2.
const ON_PLATEAU_MIN: f64 = 0.5;

/// What a batch of reads took, and the readings of the control loops on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Nanoseconds per read.
    pub ns: f64,
    /// Which visit it belongs to.
    pub visit: u32,
    /// Before and after.
    pub control: [ControlReading; 2],
}

/// What the core did during a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Company {
    /// It was ours alone.
    Fast,
    /// It was shared, evenly.
    Slow,
    /// It changed.
    Unsteady,
}

/// The best level of the control loops in a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Level {
    /// Time of an addition over that of a multiply.
    pub share: f64,
    /// Share of the readings that pass for it.
    pub near: f64,
    /// Share of those that lie on a plateau with the best.
    pub on_plateau: f64,
    /// Readings it was determined from.
    pub readings: usize,
}

/// The share of the core that a reading tells: small is much.
fn share(reading: &ControlReading) -> f64 {
    reading.port_ns / reading.multiply_ns
}

fn ratio(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

impl Batch {
    /// Mean time of a multiply beside it.
    pub fn multiply_ns(&self) -> f64 {
        let [before, after] = &self.control;
        f64::midpoint(before.multiply_ns, after.multiply_ns)
    }

    /// Whether the frequency stayed, as far as known.
    fn kept_frequency(&self) -> bool {
        let [before, after] = &self.control;
        ratio(before.multiply_ns, after.multiply_ns) <= FREQUENCY_MOVED
    }
}

impl Level {
    /// The level of all batches of a run; `None` without any whose frequency stayed.
    pub fn of<'a>(batches: impl Iterator<Item = &'a Batch>) -> Option<Self> {
        // The reading after a batch is the one before the next: one of them is enough.
        let shares: Vec<f64> =
            batches.filter(|batch| batch.kept_frequency()).map(|batch| share(&batch.control[1])).collect();
        let best = quantile(&shares, BEST_QUANTILE)?;
        let within = |factor: f64| shares.iter().filter(|share| **share <= best * factor).count() as f64;
        let near = within(GATE);
        Some(Self {
            share: best,
            near: near / shares.len() as f64,
            on_plateau: within(PLATEAU) / near,
            readings: shares.len(),
        })
    }

    /// Whether the whole core was seen for certain.
    pub fn is_certain(&self) -> bool {
        self.on_plateau >= ON_PLATEAU_MIN
    }

    /// What the core did during a batch.
    pub fn company(&self, batch: &Batch) -> Company {
        let [before, after] = batch.control.map(|reading| share(&reading));
        if !batch.kept_frequency() {
            Company::Unsteady
        } else if before.max(after) <= self.share * GATE {
            Company::Fast
        } else if before.min(after) > self.share * GATE && ratio(before, after) <= SHARE_MOVED {
            Company::Slow
        } else {
            Company::Unsteady
        }
    }

    /// Typical time of a multiply beside batches, in nanoseconds.
    pub fn multiply_ns<'a>(batches: impl Iterator<Item = &'a Batch>) -> Option<f64> {
        median(&batches.map(Batch::multiply_ns).collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(ns: f64, multiply_ns: [f64; 2], adds_per_multiply: [f64; 2]) -> Batch {
        let reading = |side: usize| ControlReading {
            multiply_ns: multiply_ns[side],
            port_ns: multiply_ns[side] / adds_per_multiply[side],
        };
        Batch { ns, visit: 0, control: [reading(0), reading(1)] }
    }

    #[test]
    fn a_batch_counts_beside_the_whole_core_at_one_frequency_only() {
        let level = Level { share: 1.0 / 16.0, near: 0.9, on_plateau: 0.9, readings: 100 };
        for (multiply_ns, adds, expected) in [
            ([0.8, 0.8], [16.0, 15.9], Company::Fast),
            // Another frequency is no other share.
            ([1.6, 1.6], [16.0, 15.9], Company::Fast),
            ([0.8, 0.9], [16.0, 16.0], Company::Unsteady),
            ([0.8, 0.8], [16.0, 8.0], Company::Unsteady),
            ([0.8, 0.8], [8.0, 8.2], Company::Slow),
            ([0.8, 0.8], [8.0, 12.0], Company::Unsteady),
        ] {
            assert_eq!(level.company(&batch(1.0, multiply_ns, adds)), expected, "{multiply_ns:?} {adds:?}");
        }
    }

    #[test]
    fn a_core_that_was_hardly_ever_alone_is_not_taken_for_one() {
        let run = |alone: usize| -> Level {
            // The others find any share of the core, as a busy neighbour leaves it.
            let shared = (0..1_000 - alone).map(|index| 8.0 + 7.9 * index as f64 / 1_000.0);
            let adds = std::iter::repeat_n(16.0, alone).chain(shared);
            let batches: Vec<Batch> = adds.map(|adds| batch(1.0, [0.8, 0.8], [adds, adds])).collect();
            Level::of(batches.iter()).expect("batches")
        };
        assert!(run(900).is_certain() && run(200).is_certain(), "{:?}", run(200));
        assert!(!run(5).is_certain(), "{:?}", run(5));
        assert_eq!(Level::of([].iter()), None);
    }
}
