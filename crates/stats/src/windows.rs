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
//!    between visits in general, `PriorSpread` (as Smyth 2004 does for few replicates and many genes).
//!
//! With a single mapping there is only the order-statistic interval inside it; `Estimate::mappings` says so.

use crate::quantile::{
    median, middle_of_sorted, quantile_interval, quantile_of_sorted, robust_standard_deviation, sorted,
};
use crate::student::student_quantile;
use crate::{Estimate, Interval, Random, modes, sample_variance};

/// Median of the sample standard deviation of two values, relative to the true one: sqrt of the median of
/// chi-squared with one degree of freedom, 0.4549.
const MEDIAN_SAMPLE_DEVIATION: f64 = 0.674_489_75;

/// Spread between mappings and visits that is to be expected before any is seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorSpread {
    /// Standard deviation between mappings, relative to the value.
    pub relative: f64,
    /// How many degrees of freedom that knowledge is worth.
    pub degrees: u32,
}

impl Default for PriorSpread {
    /// Half a percent, worth three further mappings: visits a second apart on a quiet shared guest differ by that much.
    /// Callers with many cells learn theirs with `pooled_spread`.
    fn default() -> Self {
        Self { relative: 0.005, degrees: 3 }
    }
}

/// Which of the mappings stands for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// The median: mappings differ to both sides.
    Median,
    /// The lower quartile, for durations on a machine that others use too. A mapping that was disturbed all the time
    /// it was seen is only slower, so that one says little about how low the truth may lie, and the interval
    /// reaches down by what scatters among the faster ones, and up by what scatters among all.
    LowerQuartile,
}

impl Across {
    fn quantile(self) -> f64 {
        match self {
            Self::Median => 0.5,
            Self::LowerQuartile => 0.25,
        }
    }
}

/// How windows become an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimateOptions {
    /// Which quantile of the windows: low for durations, high for rates, as noise only adds time.
    pub quantile: f64,
    /// Which of the mappings stands for all.
    pub across: Across,
    /// Probability that the interval covers: 0.95.
    pub level: f64,
    /// Bootstrap resamples; 0 leaves only Student's interval.
    pub resamples: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// What is known of the spread between mappings.
    pub prior: PriorSpread,
}

impl EstimateOptions {
    /// For durations: the lower quartile.
    pub fn durations(seed: u64) -> Self {
        Self {
            quantile: 0.25,
            across: Across::Median,
            level: 0.95,
            resamples: 200,
            seed,
            prior: PriorSpread::default(),
        }
    }

    /// For rates such as bytes per second: the upper quartile.
    pub fn rates(seed: u64) -> Self {
        Self { quantile: 0.75, ..Self::durations(seed) }
    }

    /// For what may err to both sides, such as differences: the median.
    pub fn medians(seed: u64) -> Self {
        Self { quantile: 0.5, ..Self::durations(seed) }
    }
}

/// One value with its interval from windows by mapping; all zero, with no window, if there is no finite window.
///
/// When the windows fall into several modes the value is that of a real mapping, never a mean across them, and the
/// interval spans the mappings.
pub fn estimate(mappings: &[Vec<f64>], options: &EstimateOptions) -> Estimate {
    let mappings: Vec<Vec<f64>> = mappings.iter().map(|m| sorted(m)).filter(|m| !m.is_empty()).collect();
    let pooled: Vec<f64> = mappings.concat();
    let found = modes(&pooled);
    let mut centres: Vec<f64> =
        mappings.iter().filter_map(|mapping| quantile_of_sorted(mapping, options.quantile)).collect();
    let Some(value) = location(&mut centres, options, found.len() > 1) else {
        return Estimate::default();
    };
    let interval = match mappings.as_slice() {
        [single] => quantile_interval(single, options.quantile).unwrap_or_default(),
        several => {
            let bootstrap = bootstrap(several, options, found.len() > 1);
            let student = student(&centres, value, options);
            bootstrap.map_or(student, |interval| interval.hull(&student))
        }
    };
    let interval = interval.hull(&Interval { low: value, high: value });
    Estimate { value, interval, windows: pooled.len(), mappings: mappings.len(), modes: found }
}

/// Relative standard deviation between mappings, pooled from many cells: the median over cells, so that a few unstable
/// cells do not widen all. `None` unless a cell has two mappings or more.
pub fn pooled_spread(cells: &[Vec<Vec<f64>>], quantile: f64, across: Across) -> Option<PriorSpread> {
    let spread = |mappings: &Vec<Vec<f64>>| {
        let centres: Vec<f64> =
            mappings.iter().filter_map(|mapping| crate::quantile::quantile(mapping, quantile)).collect();
        let centres = sorted(&centres);
        // Of the lower quartile's kind only the two fastest count, as that is where it lies.
        let centres = match across {
            Across::Median => centres.as_slice(),
            Across::LowerQuartile => &centres[..centres.len().min(2)],
        };
        let centre = median(centres).filter(|centre| *centre != 0.0 && centres.len() > 1)?;
        Some((sample_variance(centres) / (centre * centre)).sqrt())
    };
    let spreads: Vec<f64> = cells.iter().filter_map(spread).collect();
    // The sample standard deviation of two or three normal values has a median of 0.67 to 0.83 of the true one.
    let relative = median(&spreads)? / MEDIAN_SAMPLE_DEVIATION;
    Some(PriorSpread { relative, degrees: PriorSpread::default().degrees })
}

/// The quantile across mappings; of several modes a mapping on the side of the windows' quantile, never a mean across
/// modes. Sorts the centres; `None` for none.
fn location(centres: &mut [f64], options: &EstimateOptions, several_modes: bool) -> Option<f64> {
    centres.sort_unstable_by(f64::total_cmp);
    let place = options.across.quantile() * (centres.len() as f64 - 1.0);
    if several_modes {
        let place = if options.quantile > 0.5 { place.ceil() } else { place.floor() };
        return centres.get(place.max(0.0) as usize).copied();
    }
    quantile_of_sorted(centres, options.across.quantile())
}

/// Student's interval over the mappings with a moderated variance, around the value.
fn student(centres: &[f64], value: f64, options: &EstimateOptions) -> Interval {
    let count = centres.len() as f64;
    let (prior, own) = (f64::from(options.prior.degrees), count - 1.0);
    let degrees = options.prior.degrees.saturating_add(centres.len() as u32 - 1);
    // The median of many values scatters by sqrt(pi / 2) more than their mean; of two it is the mean.
    let efficiency = if centres.len() > 2 { std::f64::consts::FRAC_PI_2.sqrt() } else { 1.0 };
    let prior_variance = (options.prior.relative * value).powi(2);
    let reach = |own_variance: f64| {
        let moderated = (prior * prior_variance + own * own_variance) / (prior + own).max(1.0);
        let reach = student_quantile(options.level, degrees) * efficiency * (moderated / count).sqrt();
        if reach.is_finite() { reach } else { 0.0 }
    };
    // The larger of the plain and the robust variance: one outlying mapping of many must not shrink it to nothing.
    let both_sides =
        reach(sample_variance(centres).max(robust_standard_deviation(centres).unwrap_or(0.0).powi(2)));
    let below = match options.across {
        Across::Median => both_sides,
        Across::LowerQuartile => reach(variance_below(centres, value)),
    };
    Interval { low: value - below, high: value + both_sides }
}

/// Mean squared distance from the value of the centres that lie below it.
fn variance_below(centres: &[f64], value: f64) -> f64 {
    let squares: Vec<f64> =
        centres.iter().filter(|centre| **centre <= value).map(|centre| (value - centre).powi(2)).collect();
    squares.iter().sum::<f64>() / squares.len().max(1) as f64
}

/// The two-level bootstrap; `None` without resamples.
fn bootstrap(mappings: &[Vec<f64>], options: &EstimateOptions, several_modes: bool) -> Option<Interval> {
    if options.resamples == 0 {
        return None;
    }
    let tables: Vec<Vec<f64>> =
        mappings.iter().map(|mapping| redraw_table(mapping.len(), options.quantile)).collect();
    let mut random = Random::new(options.seed);
    let mut drawn = Vec::with_capacity(mappings.len());
    let mut locations = Vec::with_capacity(options.resamples);
    for _ in 0..options.resamples {
        drawn.clear();
        for _ in mappings {
            let chosen = random.below(mappings.len());
            let share = random.unit();
            let rank = tables[chosen].partition_point(|cumulative| *cumulative < share);
            drawn.push(mappings[chosen][rank.min(mappings[chosen].len() - 1)]);
        }
        locations.extend(location(&mut drawn, options, several_modes));
    }
    locations.sort_unstable_by(f64::total_cmp);
    middle_of_sorted(&locations, options.level)
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
    fn coverage(visits: usize, between: f64, learn: bool) -> f64 {
        let mut random = Random::new(99);
        let mut prior = PriorSpread::default();
        let draw = |random: &mut Random| -> Vec<Vec<f64>> {
            (0..visits).map(|_| visit(random, 100.0, between, 15)).collect()
        };
        if learn {
            let cells: Vec<Vec<Vec<f64>>> = (0..250).map(|_| draw(&mut random)).collect();
            prior = pooled_spread(&cells, 0.25, Across::Median).expect("250 cells of several visits");
        }
        let mut inside = 0;
        for _ in 0..30 {
            let repeats: Vec<Estimate> = (0..20)
                .map(|seed| {
                    estimate(
                        &draw(&mut random),
                        &EstimateOptions { prior, ..EstimateOptions::durations(seed) },
                    )
                })
                .collect();
            let values: Vec<f64> = repeats.iter().map(|repeat| repeat.value).collect();
            let truth = median(&values).expect("20 repeats");
            inside += repeats.iter().filter(|repeat| repeat.interval.contains(truth)).count();
        }
        f64::from(inside as u32) / 600.0
    }

    #[test]
    fn at_least_nine_of_ten_intervals_cover_the_median_of_all_repeats() {
        for (visits, between, learn) in [
            (2, 0.003, false),
            (3, 0.003, false),
            (2, 0.01, true),
            (3, 0.01, true),
            (2, 0.05, true),
            (3, 0.05, true),
            (5, 0.05, false),
        ] {
            let covered = coverage(visits, between, learn);
            assert!(covered >= 0.90, "{visits} visits, spread {between}, pooled {learn}: {covered}");
        }
    }

    #[test]
    fn quiet_visits_give_an_interval_narrow_enough_to_stop() {
        let mut random = Random::new(5);
        let mappings: Vec<Vec<f64>> = (0..2).map(|_| visit(&mut random, 100.0, 0.002, 15)).collect();
        let found = estimate(&mappings, &EstimateOptions::durations(1));
        assert!(found.relative_half_width() < 0.02, "{found:?}");
        assert_eq!((found.windows, found.mappings, found.modes.len()), (30, 2, 1));
    }

    #[test]
    fn a_mapping_in_another_state_is_inside_the_interval_and_never_averaged() {
        // The published case: 1.32 ns in one mapping, 4.37 ns in another, each with an interval under 1 %.
        let low: Vec<f64> = (0..15).map(|i| 1.32 + 0.001 * f64::from(i)).collect();
        let high: Vec<f64> = (0..15).map(|i| 4.37 + 0.001 * f64::from(i)).collect();
        let found = estimate(&[low, high], &EstimateOptions::durations(1));
        assert_eq!(found.modes.len(), 2);
        assert!((found.value - 1.32).abs() < 0.02 && found.interval.high > 4.37, "{found:?}");
    }

    #[test]
    fn a_disturbed_mapping_widens_the_lower_quartile_upwards_only() {
        let at = |ns: f64| (0..9).map(|window| ns + 1e-4 * f64::from(window)).collect::<Vec<f64>>();
        let options = EstimateOptions { across: Across::LowerQuartile, ..EstimateOptions::durations(1) };
        let calm = estimate(&[at(10.0), at(10.01), at(10.02)], &options);
        let disturbed = estimate(&[at(10.0), at(10.01), at(12.0)], &options);
        assert!((disturbed.value - 10.005).abs() < 0.02, "{disturbed:?}");
        assert!(disturbed.interval.low > 9.8 && disturbed.interval.high > 11.0, "{disturbed:?}");
        assert!(calm.relative_half_width() < 0.02, "{calm:?}");
    }

    #[test]
    fn the_lower_quartile_of_skewed_mappings_is_covered() {
        let mut random = Random::new(31);
        let options = EstimateOptions {
            across: Across::LowerQuartile,
            prior: PriorSpread { relative: 0.01, degrees: 3 },
            ..EstimateOptions::durations(1)
        };
        // A third of the mappings shares its cache with a neighbour.
        let mut mapping = || {
            let disturbed = if random.below(3) == 0 { 0.2 * random.unit() } else { 0.0 };
            visit(&mut random, 100.0 * (1.0 + disturbed), 0.01, 15)
        };
        let repeats: Vec<Estimate> =
            (0..400).map(|_| estimate(&[mapping(), mapping(), mapping()], &options)).collect();
        let truth =
            median(&repeats.iter().map(|repeat| repeat.value).collect::<Vec<f64>>()).expect("400 repeats");
        let covered = repeats.iter().filter(|repeat| repeat.interval.contains(truth)).count();
        assert!(covered >= 360, "{covered} of 400");
    }

    #[test]
    fn one_mapping_has_the_order_statistic_interval_and_says_so() {
        let windows: Vec<f64> = (1..=40).map(f64::from).collect();
        let found = estimate(std::slice::from_ref(&windows), &EstimateOptions::medians(1));
        assert_eq!((found.value, found.mappings), (20.5, 1));
        assert_eq!(Some(found.interval), quantile_interval(&windows, 0.5));
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
            assert_eq!(estimate(&mappings, &EstimateOptions::durations(1)).windows, 0);
        }
        for value in [f64::MAX, f64::MIN, 0.0, -1.0, f64::MIN_POSITIVE] {
            let found = estimate(&[vec![value; 9], vec![value; 3]], &EstimateOptions::rates(1));
            assert!(found.interval.contains(found.value), "{found:?}");
        }
        let huge = estimate(&[vec![1e308, -1e308, 5.0], vec![f64::MAX]], &EstimateOptions::medians(1));
        assert!(huge.interval.contains(huge.value));
    }
}
