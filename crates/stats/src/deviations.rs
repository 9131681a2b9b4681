//! Deviations of many units in many metrics from the centre of each metric, and the units that stand out.
//!
//! A unit is odd if it deviates in more metrics, or in more of one family, than the tails of the others explain (wide), or in at
//! least two metrics by far more than the tails of the others reach (narrow). Both limits come from the units themselves: a fixed rule of 6 spreads flagged
//! 86 to 102 of 512 healthy units with Student's noise of three degrees of freedom.

use crate::quantile::MAD_TO_STANDARD_DEVIATION;
use crate::{median, quantile, robust_standard_deviation};

/// No metric is believed to be more precise than this share of itself.
const LEAST_SPREAD: f32 = 1e-4;
/// A metric counts as deviating beyond this many spreads. Source: Intel Cluster Checker's rule of 6 MAD.
pub const BEYOND_SPREADS: f32 = 6.0;
/// A wide outlier deviates in at least this many metrics.
const FEWEST_WIDE: usize = 3;
/// Probability that any of the units exceeds a wide limit by chance, if counts are as dispersed as those of the units.
const WIDE_ALARMS: f64 = 0.01;
/// Mean and deviation of the counts are taken to be this much larger than those of the trimmed units.
const WIDE_MARGIN: f64 = 1.5;
/// Share of the units, those with the fewest deviating metrics, that the wide limit is calibrated on.
const TRIMMED: f64 = 0.95;
/// Beyond this count no limit is searched.
const MOST_WIDE: usize = 100_000;
/// A narrow outlier deviates by at least this share.
const NARROW_SHARE: f32 = 0.05;
/// No narrow limit is below this many spreads.
const LEAST_NARROW: f64 = 12.0;
/// The narrow limit is this many times the quantile below. With Student's noise of three degrees of freedom and 400 metrics it is
/// exceeded by one unit in 10,000 (calculated); a tenth of the units may be faulty without moving it.
const NARROW_FACTOR: f64 = 3.5;
/// Quantile, over the units, of the second largest deviation of each.
const NARROW_QUANTILE: f64 = 0.9;

/// Deviations, as logarithms of ratios: above 0 is worse. Not a number where a unit has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviations {
    units: usize,
    /// Metric by metric.
    values: Vec<f32>,
    /// Of each metric, robust; 0 where the metric does not vary and is not judged.
    spreads: Vec<f32>,
}

/// In which way a unit is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    Wide,
    /// In few metrics, by much.
    Narrow,
}

/// Which units stand out, and by which limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Outliers {
    /// A unit with so many deviating metrics is odd: of all, then by family.
    pub wide_metrics: Vec<usize>,
    /// A unit with two metrics beyond so many spreads is odd.
    pub narrow_spreads: f64,
    /// By unit.
    pub odd: Vec<Option<Oddity>>,
    /// Deviating metrics, by unit.
    pub beyond: Vec<usize>,
}

impl Deviations {
    pub fn new(units: usize, metrics: usize) -> Self {
        Self { units, values: vec![f32::NAN; units * metrics], spreads: vec![0.0; metrics] }
    }

    pub fn units(&self) -> usize {
        self.units
    }

    pub fn metrics(&self) -> usize {
        self.spreads.len()
    }

    /// Sets a value; of two for one cell the smaller stays, whatever their order.
    pub fn set(&mut self, metric: usize, unit: usize, value: f32) {
        let cell = &mut self.values[metric * self.units + unit];
        // The minimum of a number and what is none is the number.
        *cell = cell.min(value);
    }

    /// The values of a metric, by unit.
    pub fn metric(&self, metric: usize) -> &[f32] {
        &self.values[metric * self.units..][..self.units]
    }

    /// The spread of a metric; 0 if it is not judged.
    pub fn spread(&self, metric: usize) -> f32 {
        self.spreads[metric]
    }

    /// The value of a unit in a metric that is judged and that it has.
    pub fn known(&self, metric: usize, unit: usize) -> Option<f32> {
        let value = self.values[metric * self.units + unit];
        (value.is_finite() && self.spreads[metric] > 0.0).then_some(value)
    }

    /// The value of a unit in spreads, if known.
    pub fn in_spreads(&self, metric: usize, unit: usize) -> Option<f32> {
        self.known(metric, unit).map(|value| value / self.spreads[metric])
    }

    /// Moves a metric so that the median of the units that count is 0, and takes its spread from them. A metric of fewer than
    /// `fewest` of them, or one that does not vary, is not judged.
    pub fn centre(&mut self, metric: usize, counts: &[bool], fewest: usize) {
        let values = &mut self.values[metric * self.units..][..self.units];
        let mut known: Vec<f32> = counted(values, counts).collect();
        self.spreads[metric] = 0.0;
        if known.len() < fewest.max(1) {
            return;
        }
        let centre = median_of(&mut known);
        for value in values.iter_mut() {
            *value -= centre;
        }
        for value in &mut known {
            *value = (*value - centre).abs();
        }
        let deviation = median_of(&mut known);
        if deviation > 0.0 {
            self.spreads[metric] = (MAD_TO_STANDARD_DEVIATION as f32 * deviation).max(LEAST_SPREAD);
        }
    }

    /// Adds to the values of some units in a metric.
    pub(crate) fn shift(&mut self, metric: usize, units: &[u32], by: f32) {
        let values = &mut self.values[metric * self.units..][..self.units];
        for unit in units {
            values[*unit as usize] += by;
        }
    }

    /// The units that stand out; limits are calibrated on those that count, and only those are judged. `families` has the family of
    /// each metric: what is quiet is not judged by the tails of what is not.
    pub fn outliers(&self, counts: &[bool], families: &[usize]) -> Outliers {
        let groups = families.iter().max().map_or(1, |last| last + 2);
        let mut of_group = vec![vec![0; self.units]; groups];
        // The two largest deviations of each unit that matter, in spreads.
        let mut largest = vec![[0.0_f32; 2]; self.units];
        for metric in (0..self.metrics()).filter(|metric| self.spreads[*metric] > 0.0) {
            let spread = self.spreads[metric];
            for (unit, value) in self.metric(metric).iter().enumerate() {
                let size = value.abs() / spread;
                if size > BEYOND_SPREADS {
                    of_group[0][unit] += 1;
                    of_group[families[metric] + 1][unit] += 1;
                }
                let [first, second] = largest[unit];
                // What is not a number is larger than nothing.
                if size > second {
                    largest[unit] = if size > first { [size, first] } else { [first, size] };
                }
            }
        }
        let wide_metrics: Vec<usize> =
            of_group.iter().map(|beyond| wide_limit(&of_counted(beyond, counts), groups)).collect();
        let is_wide = |unit: usize| of_group.iter().zip(&wide_metrics).any(|(of, limit)| of[unit] >= *limit);
        let rest = (0..self.units).filter(|unit| counts[*unit] && !is_wide(*unit));
        let seconds: Vec<f64> = rest.map(|unit| f64::from(largest[unit][1])).collect();
        let reached = quantile(&seconds, NARROW_QUANTILE).unwrap_or(0.0);
        let narrow_spreads = LEAST_NARROW.max(NARROW_FACTOR * reached);
        let odd = (0..self.units).map(|unit| match () {
            () if !counts[unit] => None,
            () if is_wide(unit) => Some(Oddity::Wide),
            () if f64::from(largest[unit][1]) > narrow_spreads && self.is_far(unit, narrow_spreads) => {
                Some(Oddity::Narrow)
            }
            () => None,
        });
        let odd = odd.collect();
        Outliers { wide_metrics, narrow_spreads, odd, beyond: of_group.swap_remove(0) }
    }

    /// Whether a unit is beyond the narrow limit in two metrics by more than a share that matters.
    fn is_far(&self, unit: usize, narrow_spreads: f64) -> bool {
        let far = |metric: &usize| {
            self.known(*metric, unit).is_some_and(|value| {
                value.abs() > NARROW_SHARE && f64::from(value.abs() / self.spreads[*metric]) > narrow_spreads
            })
        };
        (0..self.metrics()).filter(far).take(2).count() == 2
    }
}

/// The finite values of the units that count.
fn counted<'a>(values: &'a [f32], counts: &'a [bool]) -> impl Iterator<Item = f32> + 'a {
    values.iter().zip(counts).filter(|(value, counts)| **counts && value.is_finite()).map(|(value, _)| *value)
}

fn of_counted(values: &[usize], counts: &[bool]) -> Vec<f64> {
    values.iter().zip(counts).filter(|(_, counts)| **counts).map(|(value, _)| *value as f64).collect()
}

/// The median of finite values, whose order it changes; 0 of none.
pub(crate) fn median_of(values: &mut [f32]) -> f32 {
    if values.is_empty() {
        return 0.0;
    }
    let (middle, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    let (below, upper, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
    let lower = below.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if is_even { f32::midpoint(lower, *upper) } else { *upper }
}

/// From how many deviating metrics on a unit is odd: more than any of the units reaches by chance if counts are Poisson, or
/// negative binomial where they vary more than that, and more than six robust deviations above the median.
fn wide_limit(beyond: &[f64], groups: usize) -> usize {
    let ascending = crate::sorted(beyond);
    let kept = &ascending[..(TRIMMED * ascending.len() as f64) as usize];
    let (Some(centre), Some(deviation)) = (median(kept), robust_standard_deviation(kept)) else {
        return FEWEST_WIDE;
    };
    let mean = WIDE_MARGIN * crate::mean(kept);
    let variance = (WIDE_MARGIN * WIDE_MARGIN * crate::sample_variance(kept)).max(mean * (1.0 + 1e-9));
    let alarms = WIDE_ALARMS / (beyond.len() * groups) as f64;
    let far = (centre + f64::from(BEYOND_SPREADS) * deviation).ceil() as usize;
    FEWEST_WIDE.max(far).max(count_quantile(mean, variance, alarms))
}

/// The least count that a negative binomial with this mean and variance reaches with at most this probability.
fn count_quantile(mean: f64, variance: f64, probability: f64) -> usize {
    if mean <= 0.0 {
        return 0;
    }
    let share = mean / variance;
    let size = mean * share / (1.0 - share);
    let mut log_term = size * share.ln();
    let (mut count, mut at_least) = (0, 1.0 - log_term.exp());
    while at_least > probability && count < MOST_WIDE {
        log_term += ((count as f64 + size) / (count as f64 + 1.0) * (1.0 - share)).ln();
        count += 1;
        at_least -= log_term.exp();
    }
    count + 1
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Random;

    /// Units without a fault: an effect of each unit, and noise that is normal or Student's with three degrees of freedom.
    pub(crate) fn healthy(units: usize, metrics: usize, heavy: bool, seed: u64) -> Deviations {
        let mut random = Random::new(seed);
        let own: Vec<f64> = (0..units).map(|_| 0.004 * random.normal()).collect();
        let mut all = Deviations::new(units, metrics);
        for metric in 0..metrics {
            for (unit, own) in own.iter().enumerate() {
                let noise = random.normal();
                let chi = (0..3).map(|_| random.normal().powi(2)).sum::<f64>() / 3.0;
                let noise = if heavy { noise / chi.sqrt() } else { noise };
                all.set(metric, unit, (own + 0.006 * noise) as f32);
            }
        }
        all
    }

    pub(crate) fn centred(mut all: Deviations) -> Deviations {
        let counts = vec![true; all.units()];
        (0..all.metrics()).for_each(|metric| all.centre(metric, &counts, 20));
        all
    }

    #[test]
    fn healthy_units_are_not_odd_whatever_the_tails() {
        for heavy in [false, true] {
            let found: usize = (0..4)
                .map(|seed| {
                    let all = centred(healthy(300, 200, heavy, seed));
                    all.outliers(&[true; 300], &[0; 200]).odd.iter().flatten().count()
                })
                .sum();
            assert!(found <= 1, "{heavy}: {found}");
        }
    }

    #[test]
    fn a_slow_unit_is_wide_and_half_a_bandwidth_is_narrow_even_among_few_units() {
        for (units, heavy) in [(24, false), (300, true)] {
            let mut all = healthy(units, 200, heavy, 5);
            (0..40).for_each(|metric| all.shift(metric, &[7], 0.2));
            (100..103).for_each(|metric| all.shift(metric, &[9], 2.0_f32.ln()));
            let found = centred(all).outliers(&vec![true; units], &[0; 200]);
            assert_eq!(found.odd[7], Some(Oddity::Wide), "{units}");
            assert_eq!(found.odd[9], Some(Oddity::Narrow), "{units}: {}", found.narrow_spreads);
            assert_eq!(found.odd.iter().flatten().count(), 2, "{units}");
        }
    }

    #[test]
    fn a_quiet_family_is_judged_by_its_own_tails() {
        let mut all = healthy(300, 200, false, 5);
        let mut random = Random::new(9);
        for metric in 100..200 {
            for unit in 0..300 {
                let burst = if random.unit() < 0.1 { 0.3 } else { 0.0 };
                all.shift(metric, &[unit], burst);
            }
        }
        (0..8).for_each(|metric| all.shift(metric, &[7], 0.2));
        let families: Vec<usize> = (0..200).map(|metric| metric / 100).collect();
        let all = centred(all);
        let found = |families: &[usize]| all.outliers(&[true; 300], families).odd;
        assert_eq!(found(&families)[7], Some(Oddity::Wide));
        assert_eq!(found(&families).iter().flatten().count(), 1);
    }

    #[test]
    fn a_metric_that_does_not_vary_and_one_of_few_units_are_not_judged() {
        let mut all = healthy(30, 3, false, 1);
        all.values[..30].fill(2.0);
        all.values[30..45].fill(f32::NAN);
        let all = centred(all);
        assert_eq!((all.spread(0), all.spread(1)), (0.0, 0.0));
        assert!(all.spread(2) > 0.0 && all.known(0, 3).is_none());
        let none = Deviations::new(0, 2);
        assert_eq!(none.outliers(&[], &[0; 2]).odd, []);
    }

    #[test]
    fn the_limit_of_counts_is_that_of_poisson_where_they_vary_no_more() {
        // scipy.stats.poisson.isf(1e-5, 4) + 1, and nbinom with twice the variance.
        assert_eq!(count_quantile(4.0, 4.0 * (1.0 + 1e-9), 1e-5), 16);
        assert!(count_quantile(4.0, 8.0, 1e-5) > 16);
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_sorted_values(values in proptest::collection::vec(-1e3..1e3_f32, 1..40)) {
            let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let found = median_of(&mut values.clone());
            prop_assert!((f64::from(found) - median(&wide).expect("values")).abs() < 1e-3);
        }
    }
}
