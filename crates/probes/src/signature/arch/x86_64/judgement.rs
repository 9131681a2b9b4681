//! From turns to a value with its interval, beside the control that must not move.
//!
//! A value is a function of low quantiles, one of each loop over all turns, as disturbance only adds time. Its interval
//! comes from resampling: blocks of consecutive turns are drawn with replacement, as a disturbance outlasts a turn, and
//! the function is taken of each resample. Where others had a share of the core, the interval reaches down by what the
//! core's ports lost to them.

use record::{Reading, SignatureReading};
use stats::{Interval, Random, quantile_of_sorted, sorted};

use crate::probe::SignatureProbe;

/// Consecutive turns that are drawn together.
const TURNS_PER_BLOCK: usize = 10;
/// Resamples.
const RESAMPLES: usize = 300;
/// The 95 % interval of the resamples.
const LEVEL: [f64; 2] = [0.025, 0.975];

/// Turns, and how they become one number.
pub(super) struct Turns {
    /// Values by turn and loop; never empty.
    pub(super) values: Vec<Vec<f64>>,
    /// By which factor the ports of the core were slower than at best, as others had a share of it; 1 if none had.
    pub(super) slowdown: f64,
    /// Which quantile of a loop's values counts.
    pub(super) quantile: f64,
    /// Fixes the resampling.
    pub(super) seed: u64,
}

/// What must not move.
pub(super) struct Held {
    /// What it is.
    pub(super) text: &'static str,
    /// A ratio of low quantiles that is 1 when nothing has moved.
    pub(super) ratio: fn(&[f64]) -> f64,
    /// How far the ratio may be from 1.
    pub(super) bound: f64,
    /// Where the control, which is the first loop, has to lie in the unit of the loops, if anything is known of it whatever the CPU.
    pub(super) plausible: Option<Interval>,
}

impl Turns {
    /// The quantity of a probe, beside its control.
    pub(super) fn reading(
        &self,
        probe: SignatureProbe,
        value: impl Fn(&[f64]) -> f64,
        held: &Held,
    ) -> Reading<SignatureReading> {
        let unit = probe.quantity().unit;
        let (value, interval) = self.resampled(value);
        let (control_ratio, control_interval) = self.resampled(held.ratio);
        let numbers = [value, interval.low, interval.high, control_ratio];
        if !numbers.into_iter().all(f64::is_finite) {
            return Reading::Missing("the windows gave no finite number".to_owned());
        }
        let may_be = Interval { low: 1.0 - held.bound, high: 1.0 + held.bound };
        let lows = self.lows(&self.all());
        let is_plausible = held.plausible.is_none_or(|plausible| plausible.contains(lows[0]));
        // Alone, a duration would have been shorter, by no more than what the ports lost. Ratios lose on both sides.
        let low = interval.low;
        let alone_low = if unit == "ratio" { low } else { low - low.abs() * (1.0 - 1.0 / self.slowdown) };
        Reading::Is(SignatureReading {
            value,
            interval: Interval { low: alone_low, high: interval.high },
            unit: unit.to_owned(),
            count: u32::try_from(self.values.len()).unwrap_or(u32::MAX),
            control: held.text.to_owned(),
            control_ratio,
            control_interval,
            control_holds: may_be.contains(control_ratio) && is_plausible,
        })
    }

    /// A value and its interval.
    fn resampled(&self, function: impl Fn(&[f64]) -> f64) -> (f64, Interval) {
        let value = function(&self.lows(&self.all()));
        let mut random = Random::new(self.seed);
        let blocks = self.values.len().div_ceil(TURNS_PER_BLOCK);
        let mut found: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let drawn: Vec<usize> = (0..blocks).flat_map(|_| self.block(random.below(blocks))).collect();
                function(&self.lows(&drawn))
            })
            .collect();
        found = sorted(&found);
        let end = |q| quantile_of_sorted(&found, q).unwrap_or(value);
        let interval = Interval::between(end(LEVEL[0]), end(LEVEL[1]));
        (value, interval.hull(&Interval { low: value, high: value }))
    }

    /// Each turn once.
    fn all(&self) -> Vec<usize> {
        (0..self.values.len()).collect()
    }

    /// Turns of a block.
    fn block(&self, block: usize) -> std::ops::Range<usize> {
        let first = block * TURNS_PER_BLOCK;
        first..(first + TURNS_PER_BLOCK).min(self.values.len())
    }

    /// The low quantile of each loop over these turns.
    fn lows(&self, turns: &[usize]) -> Vec<f64> {
        let works = self.values.first().map_or(0, Vec::len);
        let low = |work: usize| {
            let column: Vec<f64> = turns.iter().map(|&turn| self.values[turn][work]).collect();
            quantile_of_sorted(&sorted(&column), self.quantile).unwrap_or(f64::NAN)
        };
        (0..works).map(low).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(bound: f64, plausible: Option<Interval>) -> Held {
        Held { text: "a loop", ratio: |lows| lows[2] / lows[0], bound, plausible }
    }

    /// Turns of a control of 2, a value of 10, and the control again, with some disturbance above each.
    fn turns(after: f64) -> Turns {
        let mut random = Random::new(9);
        let mut noisy = |value: f64| value * (1.0 + 0.02 * random.unit());
        let values = (0..200).map(|_| vec![noisy(2.0), noisy(10.0), noisy(after)]).collect();
        Turns { values, slowdown: 1.0, quantile: 0.1, seed: 1 }
    }

    fn is(reading: Reading<SignatureReading>) -> SignatureReading {
        match reading {
            Reading::Is(is) => is,
            Reading::Missing(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn a_value_is_the_low_end_and_its_interval_is_narrow() {
        let found = is(turns(2.0).reading(SignatureProbe::Gather, |lows| lows[1], &held(0.05, None)));
        assert!((found.value - 10.02).abs() < 0.02, "{}", found.value);
        assert!(found.interval.contains(10.02) && found.interval.half_width() < 0.02, "{}", found.interval);
        assert!(found.control_holds && found.control_interval.contains(1.0) && found.count == 200);
    }

    #[test]
    fn a_control_that_moved_or_is_implausible_does_not_hold() {
        let reading =
            |after, held: &Held| is(turns(after).reading(SignatureProbe::Gather, |lows| lows[1], held));
        assert!(!reading(2.2, &held(0.05, None)).control_holds);
        let level = |low, high| Some(Interval { low, high });
        assert!(reading(2.0, &held(0.05, level(1.0, 3.0))).control_holds);
        assert!(!reading(2.0, &held(0.05, level(3.0, 4.0))).control_holds);
    }

    #[test]
    fn sharing_the_core_lets_a_duration_have_been_shorter_alone_and_leaves_a_ratio() {
        let low = |slowdown, probe| {
            let turns = Turns { slowdown, ..turns(2.0) };
            is(turns.reading(probe, |lows| lows[1], &held(0.05, None))).interval.low
        };
        assert!(
            (low(1.25, SignatureProbe::PageWalk) / low(1.0, SignatureProbe::PageWalk) - 0.8).abs() < 1e-9
        );
        assert!((low(1.25, SignatureProbe::Jcc) - low(1.0, SignatureProbe::Jcc)).abs() < 1e-9);
    }

    #[test]
    fn a_long_disturbance_widens_the_interval_more_than_scattered_ones() {
        let made = |is_slow: fn(usize) -> bool| {
            let values = (0..200).map(|turn| vec![1.0, if is_slow(turn) { 2.0 } else { 1.0 }, 1.0]).collect();
            let turns = Turns { values, slowdown: 1.0, quantile: 0.25, seed: 1 };
            is(turns.reading(SignatureProbe::PageWalk, |lows| lows[1], &held(0.05, None)))
                .interval
                .half_width()
        };
        assert!(made(|turn| turn % 2 == 0) < 1e-9);
        assert!(made(|turn| turn < 130) > 0.0);
    }

    #[test]
    fn what_is_not_finite_is_no_reading() {
        let reading =
            turns(2.0).reading(SignatureProbe::Jcc, |lows| lows[1] / (lows[0] - lows[0]), &held(0.05, None));
        assert!(matches!(reading, Reading::Missing(_)));
    }
}
