//! From windows by mapping to one estimate that is believable in the next process, too.
//!
//! A window is one short timing. A *mapping* is one fresh set of pages, or one later visit to the same cell: whatever the
//! windows inside it share and the next process would not. So the mapping is the unit: each gives one quantile,
//! the estimate is their median. Pooling the windows and taking a low quantile of all would instead pick the luckiest
//! mapping, a number that gets lower the more mappings are tried.
//!
//! Two intervals, of which the wider counts at each end:
//! 1. two-level bootstrap: mappings drawn with replacement, windows drawn inside each. The window level is exact: the
//!    k-th of n redrawn windows is a known distribution over the order statistics, one table look-up per draw;
//! 2. Student's interval over the mappings' quantiles. Two or three mappings hardly know their own spread (two that
//!    agree by luck would claim no width at all), so their variance is moderated by what is known of the spread
//!    between visits in general (as Smyth 2004 does for few replicates and many genes).
//!
//! With a single mapping there is only the order-statistic interval inside it; `Estimate::mappings` says so.

use crate::quantile::{
    middle_of_sorted, quantile_interval, quantile_of_sorted, robust_standard_deviation, sorted,
};
use crate::student::student_quantile;
use crate::{Estimate, Interval, Random, modes, sample_variance};

/// Spread between mappings that is to be expected before any is seen, relative to the value: half a percent, worth three further
/// mappings. Visits a second apart on a quiet shared guest differ by that much.
const PRIOR_SPREAD: f64 = 0.005;
const PRIOR_DEGREES: u32 = 3;
/// Which quantile of the windows: low, as noise only adds time.
const QUANTILE: f64 = 0.25;
/// Probability that the interval covers.
const LEVEL: f64 = 0.95;
/// Bootstrap resamples.
const RESAMPLES: usize = 200;

/// The duration behind windows by mapping, with its interval by a bootstrap from `seed`; all zero, with no window, if there is no finite window.
///
/// When the windows fall into several modes the value is that of a real mapping, never a mean across them, and the
/// interval spans the mappings.
pub fn estimate(mappings: &[Vec<f64>], seed: u64) -> Estimate {
    let mappings: Vec<Vec<f64>> = mappings.iter().map(|m| sorted(m)).filter(|m| !m.is_empty()).collect();
    let pooled: Vec<f64> = mappings.concat();
    let found = modes(&pooled);
    let mut centres: Vec<f64> =
        mappings.iter().filter_map(|mapping| quantile_of_sorted(mapping, QUANTILE)).collect();
    let Some(value) = location(&mut centres, found.len() > 1) else {
        return Estimate::default();
    };
    let interval = match mappings.as_slice() {
        [single] => quantile_interval(single, QUANTILE).unwrap_or_default(),
        several => {
            let bootstrap = bootstrap(several, seed, found.len() > 1);
            let student = student(&centres, value);
            bootstrap.map_or(student, |interval| interval.hull(&student))
        }
    };
    let interval = interval.hull(&Interval { low: value, high: value });
    Estimate { value, interval, windows: pooled.len(), mappings: mappings.len(), modes: found }
}

/// The median of the mappings; of several modes a mapping on the side of the fast ones, never a mean across modes. Sorts the centres;
/// `None` for none.
fn location(centres: &mut [f64], several_modes: bool) -> Option<f64> {
    centres.sort_unstable_by(f64::total_cmp);
    if several_modes {
        return centres.get(centres.len().saturating_sub(1) / 2).copied();
    }
    quantile_of_sorted(centres, 0.5)
}

/// Student's interval over the mappings with a moderated variance, around the value.
fn student(centres: &[f64], value: f64) -> Interval {
    let count = centres.len() as f64;
    let (prior, own) = (f64::from(PRIOR_DEGREES), count - 1.0);
    let degrees = PRIOR_DEGREES.saturating_add(centres.len() as u32 - 1);
    // The median of many values scatters by sqrt(pi / 2) more than their mean; of two it is the mean.
    let efficiency = if centres.len() > 2 { std::f64::consts::FRAC_PI_2.sqrt() } else { 1.0 };
    // The larger of the plain and the robust variance: one outlying mapping of many must not shrink it to nothing.
    let own_variance =
        sample_variance(centres).max(robust_standard_deviation(centres).unwrap_or(0.0).powi(2));
    let moderated = (prior * (PRIOR_SPREAD * value).powi(2) + own * own_variance) / (prior + own).max(1.0);
    let reach = student_quantile(LEVEL, degrees) * efficiency * (moderated / count).sqrt();
    let reach = if reach.is_finite() { reach } else { 0.0 };
    Interval { low: value - reach, high: value + reach }
}

/// The two-level bootstrap.
fn bootstrap(mappings: &[Vec<f64>], seed: u64, several_modes: bool) -> Option<Interval> {
    let tables: Vec<Vec<f64>> =
        mappings.iter().map(|mapping| redraw_table(mapping.len(), QUANTILE)).collect();
    let mut random = Random::new(seed);
    let mut drawn = Vec::with_capacity(mappings.len());
    let mut locations = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        drawn.clear();
        for _ in mappings {
            let chosen = random.below(mappings.len());
            let share = random.unit();
            let rank = tables[chosen].partition_point(|cumulative| *cumulative < share);
            drawn.push(mappings[chosen][rank.min(mappings[chosen].len() - 1)]);
        }
        locations.extend(location(&mut drawn, several_modes));
    }
    locations.sort_unstable_by(f64::total_cmp);
    middle_of_sorted(&locations, LEVEL)
}

/// Cumulative probabilities that the quantile of `count` windows redrawn with replacement is one of the lowest 1, 2, ...
/// of them: at least k of n draws fall among the lowest i with probability P(Binomial(n, i / n) >= k).
fn redraw_table(count: usize, q: f64) -> Vec<f64> {
    let successes_min = (q.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize + 1;
    (1..=count)
        .map(|lowest| {
            let share = lowest as f64 / count as f64;
            if lowest == count {
                return 1.0;
            }
            1.0 - binomial_below(count, successes_min, share)
        })
        .collect()
}

/// Probability of fewer than `successes_min` successes in `count` trials.
fn binomial_below(count: usize, successes_min: usize, share: f64) -> f64 {
    let odds = share / (1.0 - share);
    let mut term = (1.0 - share).powf(count as f64);
    if term == 0.0 {
        // Too many windows for the direct sum: the normal approximation is exact enough there.
        let mean = count as f64 * share;
        let deviation = (mean * (1.0 - share)).sqrt();
        return crate::student::normal_cdf((successes_min as f64 - 0.5 - mean) / deviation);
    }
    let mut sum = 0.0;
    for successes in 0..successes_min {
        sum += term;
        term *= odds * (count - successes) as f64 / (successes + 1) as f64;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median;

    /// Windows of one visit: a shared offset, small noise, now and then a disturbed window.
    fn visit(random: &mut Random, centre: f64, between: f64, windows: usize) -> Vec<f64> {
        let here = centre * (1.0 + between * random.normal());
        (0..windows)
            .map(|_| {
                let disturbed = if random.below(10) == 0 { 0.3 * random.unit() } else { 0.0 };
                here * (1.0 + 0.004 * random.normal().abs() + disturbed)
            })
            .collect()
    }

    /// 30 cells, 20 repeats each: the share of intervals that hold their cell's median over all repeats.
    fn coverage(visits: usize, between: f64) -> f64 {
        let mut random = Random::new(99);
        let draw = |random: &mut Random| -> Vec<Vec<f64>> {
            (0..visits).map(|_| visit(random, 100.0, between, 15)).collect()
        };
        let mut inside = 0;
        for _ in 0..30 {
            let repeats: Vec<Estimate> = (0..20).map(|seed| estimate(&draw(&mut random), seed)).collect();
            let values: Vec<f64> = repeats.iter().map(|repeat| repeat.value).collect();
            let truth = median(&values).expect("20 repeats");
            inside += repeats.iter().filter(|repeat| repeat.interval.contains(truth)).count();
        }
        f64::from(inside as u32) / 600.0
    }

    #[test]
    fn at_least_nine_of_ten_intervals_cover_the_median_of_all_repeats() {
        for (visits, between) in [(2, 0.003), (3, 0.003), (5, 0.05)] {
            let covered = coverage(visits, between);
            assert!(covered >= 0.90, "{visits} visits, spread {between}: {covered}");
        }
    }

    #[test]
    fn quiet_visits_give_an_interval_narrow_enough_to_stop() {
        let mut random = Random::new(5);
        let mappings: Vec<Vec<f64>> = (0..2).map(|_| visit(&mut random, 100.0, 0.002, 15)).collect();
        let found = estimate(&mappings, 1);
        assert!(found.relative_half_width() < 0.02, "{found:?}");
        assert_eq!((found.windows, found.mappings, found.modes.len()), (30, 2, 1));
    }

    #[test]
    fn a_mapping_in_another_state_is_inside_the_interval_and_never_averaged() {
        // The published case: 1.32 ns in one mapping, 4.37 ns in another, each with an interval under 1 %.
        let low: Vec<f64> = (0..15).map(|i| 1.32 + 0.001 * f64::from(i)).collect();
        let high: Vec<f64> = (0..15).map(|i| 4.37 + 0.001 * f64::from(i)).collect();
        let found = estimate(&[low, high], 1);
        assert_eq!(found.modes.len(), 2);
        assert!((found.value - 1.32).abs() < 0.02 && found.interval.high > 4.37, "{found:?}");
    }

    #[test]
    fn one_mapping_has_the_order_statistic_interval_and_says_so() {
        let windows: Vec<f64> = (1..=40).map(f64::from).collect();
        let found = estimate(std::slice::from_ref(&windows), 1);
        assert_eq!((found.value, found.mappings), (10.75, 1));
        assert_eq!(Some(found.interval), quantile_interval(&windows, QUANTILE));
    }

    #[test]
    fn the_redraw_table_is_the_bootstrap_distribution() {
        let table = redraw_table(15, 0.25);
        let mut random = Random::new(2);
        let mut counts = [0_u32; 15];
        for _ in 0..20_000 {
            let mut draws: Vec<usize> = (0..15).map(|_| random.below(15)).collect();
            draws.sort_unstable();
            // The 5th of 15: round(0.25 * 14) + 1.
            counts[draws[4]] += 1;
        }
        let mut cumulative = 0.0;
        for (place, expected) in table.iter().enumerate() {
            cumulative += f64::from(counts[place]) / 20_000.0;
            assert!((cumulative - expected).abs() < 0.015, "{place}: {cumulative} {expected}");
        }
    }

    #[test]
    fn nonsense_gives_an_empty_estimate_and_no_panic() {
        for mappings in [vec![], vec![vec![]], vec![vec![f64::NAN, f64::INFINITY]]] {
            assert_eq!(estimate(&mappings, 1).windows, 0);
        }
        for value in [f64::MAX, f64::MIN, 0.0, -1.0, f64::MIN_POSITIVE] {
            let found = estimate(&[vec![value; 9], vec![value; 3]], 1);
            assert!(found.interval.contains(found.value), "{found:?}");
        }
        let huge = estimate(&[vec![1e308, -1e308, 5.0], vec![f64::MAX]], 1);
        assert!(huge.interval.contains(huge.value));
    }
}
