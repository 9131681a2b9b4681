//! What two sides of a row differ by, on the log scale of cost: above zero the second is slower.
//!
//! Three ways, by what is known. Replicates without partners: the Hodges-Lehmann shift with the rank-sum interval, or
//! Student's with Welch's degrees where there are too few for that. Single values with intervals: the distances of
//! their interval ends added in squares (Zou and Donner, Statistics in Medicine 27, 2008), which keeps lopsided
//! intervals lopsided. Pairs, where a caller took some: the signed-rank interval.

use record::Better;
use stats::{Comparison, Interval};

use super::Sample;

/// Half-width of a 95 % interval in standard errors of a normal estimate.
pub(super) const STANDARD_ERRORS: f64 = 1.96;

/// Half-width of a 90 % interval over that of a 95 % interval, for normal estimates; of estimates with few degrees of
/// freedom the true share is smaller, so that equivalence is never claimed too early.
const NARROW_SHARE: f64 = 1.645 / STANDARD_ERRORS;

/// An interval that reaches zero or below ends here, relative to its value: a millionth.
const LEAST_SHARE: f64 = 1e-6;

/// From this many values on, order statistics bound the median at 95 %.
const ORDER_STATISTICS_FROM: usize = 6;

/// The value of one side and its interval, as a table shows them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Side {
    pub(super) value: f64,
    pub(super) interval: Option<Interval>,
}

impl Side {
    /// The median of the replicates, and the wider of their own intervals and the spread between them: what separates
    /// runs is seldom inside any one of them. `None` without a sample.
    pub(super) fn of(samples: &[Sample]) -> Option<Self> {
        let values = values(samples);
        let value = stats::median(&values)?;
        let between = match samples.len() {
            1 => None,
            ORDER_STATISTICS_FROM.. => stats::quantile_interval(&stats::sorted(&values), 0.5),
            _ => student(&values),
        };
        let own = own_interval(samples).map(|own| own.map(|share| share * value));
        let interval = [between, own].into_iter().flatten().reduce(|one, other| one.hull(&other));
        let interval = interval.filter(|interval| interval.high > interval.low);
        Some(Self { value, interval: interval.map(|ends| ends.hull(&Interval::between(value, value))) })
    }
}

/// The difference of the second side from the first as a cost; `None` if their spread is not known.
pub(super) fn difference(sides: [&[Sample]; 2], better: Better, paired: bool) -> Option<Comparison> {
    let costs = sides.map(|side| side.iter().map(|sample| cost(sample, better)).collect::<Vec<_>>());
    let [a, b] = &costs;
    let counts = [a.len(), b.len()];
    let found = match counts {
        _ if paired => {
            let pairs: Vec<(f64, f64)> = a.iter().zip(b).map(|(a, b)| (a.value, b.value)).collect();
            Comparison::of_pairs(&pairs)
        }
        [0, _] | [_, 0] => None,
        [1, _] | [_, 1] => of_intervals(&Side::of(a)?, &Side::of(b)?, counts),
        _ => of_replicates(a, b),
    };
    let has_width = |ends: Interval| ends.high > ends.low;
    found.filter(|found| found.interval.is_some_and(has_width) && found.equivalence_interval.is_some())
}

/// Standard error of the log ratio, from the width of its interval.
pub(super) fn standard_error(found: &Comparison) -> Option<f64> {
    if found.pairs > 1 {
        return found.standard_error();
    }
    Some(found.interval?.map(f64::ln).half_width() / STANDARD_ERRORS)
}

fn values(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
}

/// A rate as the time it stands for.
fn cost(sample: &Sample, better: Better) -> Sample {
    if better == Better::Lower {
        return *sample;
    }
    let least = sample.value * LEAST_SHARE;
    Sample {
        value: 1.0 / sample.value,
        interval: sample
            .interval
            .map(|interval| Interval { low: interval.low.max(least), ..interval }.map(f64::recip)),
        ..*sample
    }
}

/// The typical interval of single samples, relative to their values; `None` if none carries one.
fn own_interval(samples: &[Sample]) -> Option<Interval> {
    let ends = |end: fn(&Interval) -> f64| {
        let ends: Vec<f64> =
            samples.iter().filter_map(|s| s.interval.map(|interval| end(&interval) / s.value)).collect();
        stats::median(&ends)
    };
    Some(Interval { low: ends(|i| i.low)?, high: ends(|i| i.high)? })
}

/// Two groups of runs; never narrower than a single run is sure of itself.
fn of_replicates(a: &[Sample], b: &[Sample]) -> Option<Comparison> {
    let groups = Comparison::of_groups(&values(a), &values(b))?;
    let between = if groups.interval.is_some() { groups } else { welch(&values(a), &values(b))? };
    let reach = |samples: &[Sample]| own_interval(samples).map_or(0.0, |own| log_ends(&own).half_width());
    let within = reach(a).hypot(reach(b));
    let half = between.interval?.map(f64::ln).half_width();
    Some(if half > 0.0 && within > half { between.widened(within / half) } else { between })
}

/// An interval relative to its value, on the log scale.
fn log_ends(relative: &Interval) -> Interval {
    Interval { low: relative.low.clamp(LEAST_SHARE, 1.0).ln(), high: relative.high.max(1.0).ln() }
}

fn mean_and_variance(logs: &[f64]) -> (f64, f64) {
    (stats::mean(logs), stats::sample_variance(logs))
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

/// Student's interval of the mean log, back on the scale of the values.
fn student(values: &[f64]) -> Option<Interval> {
    let (mean, variance) = mean_and_variance(&logs(values));
    let reach =
        stats::student_quantile(0.95, values.len() as u32 - 1) * (variance / values.len() as f64).sqrt();
    reach.is_finite().then(|| Interval { low: (mean - reach).exp(), high: (mean + reach).exp() })
}

/// Difference of mean logs with Welch's degrees of freedom, rounded down: for groups too small for ranks.
fn welch(a: &[f64], b: &[f64]) -> Option<Comparison> {
    let ((mean_a, variance_a), (mean_b, variance_b)) =
        (mean_and_variance(&logs(a)), mean_and_variance(&logs(b)));
    let (part_a, part_b) = (variance_a / a.len() as f64, variance_b / b.len() as f64);
    let error = (part_a + part_b).sqrt();
    let spread = part_a.powi(2) / (a.len() as f64 - 1.0) + part_b.powi(2) / (b.len() as f64 - 1.0);
    let degrees = ((part_a + part_b).powi(2) / spread).max(1.0) as u32;
    let log = mean_b - mean_a;
    let about = |level: f64| {
        let reach = stats::student_quantile(level, degrees) * error;
        Interval { low: (log - reach).exp(), high: (log + reach).exp() }
    };
    (error > 0.0 && error.is_finite()).then(|| Comparison {
        ratio: log.exp(),
        interval: Some(about(0.95)),
        equivalence_interval: Some(about(0.90)),
        p: stats::student_two_sided(log / error, degrees),
        pairs: a.len().min(b.len()),
    })
}

/// Single values with an interval each.
fn of_intervals(a: &Side, b: &Side, counts: [usize; 2]) -> Option<Comparison> {
    let [a_ends, b_ends] =
        [(a, a.interval?), (b, b.interval?)].map(|(side, ends)| log_ends(&ends.map(|end| end / side.value)));
    let log = (b.value / a.value).ln();
    let (down, up) = (b_ends.low.hypot(a_ends.high), b_ends.high.hypot(a_ends.low));
    let about = |share: f64| Interval { low: (log - share * down).exp(), high: (log + share * up).exp() };
    let towards_zero = if log > 0.0 { down } else { up };
    let z = log.abs() / (towards_zero / STANDARD_ERRORS);
    Some(Comparison {
        ratio: log.exp(),
        interval: Some(about(1.0)),
        equivalence_interval: Some(about(NARROW_SHARE)),
        p: if z.is_finite() { 2.0 * stats::normal_cdf(-z) } else { 1.0 },
        pairs: counts[0].min(counts[1]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Vec<Sample> {
        values.iter().map(|value| Sample::plain(*value)).collect()
    }

    fn with_interval(value: f64, half: f64) -> Vec<Sample> {
        vec![Sample {
            interval: Some(Interval { low: value - half, high: value + half }),
            ..Sample::plain(value)
        }]
    }

    fn of(a: &[Sample], b: &[Sample]) -> Option<Comparison> {
        difference([a, b], Better::Lower, false)
    }

    #[test]
    fn a_single_value_and_identical_values_carry_no_interval() {
        assert_eq!(Side::of(&samples(&[3.0])).expect("a value").interval, None);
        assert_eq!(Side::of(&samples(&[3.0, 3.0, 3.0])).expect("values").interval, None);
        assert_eq!(Side::of(&[]), None);
        assert_eq!(of(&samples(&[3.0]), &samples(&[4.0])), None);
        assert_eq!(of(&samples(&[3.0; 9]), &samples(&[4.0; 9])), None);
        assert_eq!(of(&samples(&[3.0; 2]), &samples(&[4.0; 2])), None);
    }

    #[test]
    fn the_interval_of_a_side_does_not_depend_on_the_order_of_its_values() {
        let ascending: Vec<f64> = (1..=12).map(f64::from).collect();
        let mut mixed = ascending.clone();
        stats::Random::new(4).shuffle(&mut mixed);
        let side = Side::of(&samples(&mixed)).expect("twelve");
        assert_eq!(side.interval, stats::quantile_interval(&ascending, 0.5));
        assert_eq!(Some(side), Side::of(&samples(&ascending)));
    }

    #[test]
    fn three_against_three_is_welchs_test_of_the_logs() {
        let found = of(&samples(&[9.0, 10.0, 11.0]), &samples(&[12.0, 12.5, 13.5])).expect("two groups");
        // From the definitions: t = 3.536010, Welch's degrees 3.261, so 3; exp(mean difference) = 1.269394.
        assert!((found.p - stats::student_two_sided(3.536_010, 3)).abs() < 1e-6, "{found:?}");
        let interval = found.interval.expect("an interval");
        assert!(
            interval.low > 1.0 && interval.contains(found.ratio) && (found.ratio - 1.269_394).abs() < 1e-6,
            "{found:?}"
        );
    }

    #[test]
    fn many_replicates_have_the_interval_of_ranks() {
        let (a, b): (Vec<f64>, Vec<f64>) =
            (1..=20).map(|i| (100.0 + f64::from(i), 110.0 + f64::from(i))).unzip();
        assert_eq!(of(&samples(&a), &samples(&b)), Comparison::of_groups(&a, &b));
    }

    #[test]
    fn the_interval_within_a_run_is_never_narrowed_by_runs_that_happen_to_agree() {
        let runs = |values: [f64; 3]| values.map(|value| with_interval(value, 0.1 * value)[0]);
        let found = of(&runs([10.0, 10.001, 9.999]), &runs([10.5, 10.501, 10.499])).expect("two groups");
        assert!(found.interval.expect("an interval").contains(1.0) && found.p > 0.05, "{found:?}");
    }

    #[test]
    fn the_p_value_agrees_with_the_interval_on_whether_no_change_is_inside() {
        for b in 90..=110 {
            let found =
                of(&with_interval(100.0, 2.0), &with_interval(f64::from(b), 3.0)).expect("two intervals");
            let (wide, narrow) = (found.interval.expect("wide"), found.equivalence_interval.expect("narrow"));
            assert_eq!(wide.contains(1.0), found.p > 0.049_99, "{b}: {found:?}");
            assert!(narrow.low >= wide.low && narrow.high <= wide.high);
        }
        assert_eq!(of(&with_interval(1.0, 0.1), &samples(&[1.0])), None);
    }

    #[test]
    fn an_interval_that_reaches_below_zero_makes_a_wide_one_and_no_panic() {
        let doubtful = with_interval(1.0, 6.0);
        for better in [Better::Lower, Better::Higher] {
            let found = difference([&doubtful, &doubtful], better, false).expect("two intervals");
            let wide = found.interval.expect("wide");
            assert!(wide.contains(1.0) && wide.low > 0.0 && wide.high.is_finite(), "{wide}");
        }
    }

    #[test]
    fn rates_are_compared_as_the_times_they_stand_for() {
        let found = difference([&with_interval(10.0, 0.1), &with_interval(5.0, 0.1)], Better::Higher, false);
        assert!((found.expect("two intervals").ratio - 2.0).abs() < 1e-12);
    }
}
