//! What two sides of a row differ by, on the log scale of cost: above zero the second is slower.
//!
//! Replicates without partners have the Hodges-Lehmann shift with the rank-sum interval, or Student's with Welch's degrees where there
//! are too few for that; pairs, where a caller took some, the signed-rank interval. Of single values nothing is known.

use record::Better;
use stats::{Comparison, Interval};

use super::Sample;

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
    // A rate as the time it stands for.
    let cost = |value: f64| if better == Better::Lower { value } else { value.recip() };
    let [a, b] = sides.map(|side| values(side).into_iter().map(cost).collect::<Vec<f64>>());
    let found = if paired {
        Comparison::of_pairs(&a.into_iter().zip(b).collect::<Vec<_>>())
    } else {
        let groups = Comparison::of_groups(&a, &b)?;
        if groups.interval.is_some() { Some(groups) } else { welch(&a, &b) }
    };
    let has_width = |ends: Interval| ends.high > ends.low;
    found.filter(|found| found.interval.is_some_and(has_width) && found.equivalence_interval.is_some())
}

fn values(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
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

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

/// Student's interval of the mean log, back on the scale of the values.
fn student(values: &[f64]) -> Option<Interval> {
    let logs = logs(values);
    let (mean, variance) = (stats::mean(&logs), stats::sample_variance(&logs));
    let reach =
        stats::student_quantile(0.95, values.len() as u32 - 1) * (variance / values.len() as f64).sqrt();
    reach.is_finite().then(|| Interval { low: (mean - reach).exp(), high: (mean + reach).exp() })
}

/// Difference of mean logs with Welch's degrees of freedom, rounded down: for groups too small for ranks.
fn welch(a: &[f64], b: &[f64]) -> Option<Comparison> {
    let [log_a, log_b] = [a, b].map(logs);
    let [part_a, part_b] = [&log_a, &log_b].map(|logs| stats::sample_variance(logs) / logs.len() as f64);
    let error = (part_a + part_b).sqrt();
    let spread = part_a.powi(2) / (a.len() as f64 - 1.0) + part_b.powi(2) / (b.len() as f64 - 1.0);
    let degrees = ((part_a + part_b).powi(2) / spread).max(1.0) as u32;
    let log = stats::mean(&log_b) - stats::mean(&log_a);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Vec<Sample> {
        values.iter().map(|value| Sample::plain(*value)).collect()
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
    fn rates_are_compared_as_the_times_they_stand_for() {
        let sides = [[9.9, 10.0, 10.1], [4.95, 5.0, 5.05]].map(|values| samples(&values));
        let found = difference(sides.each_ref().map(Vec::as_slice), Better::Higher, false);
        assert!((found.expect("replicates").ratio - 2.0).abs() < 1e-12);
    }
}
