//! What two sides of a row differ by, on the log scale of cost: above zero the second is slower.
//!
//! Replicates without partners have the Hodges-Lehmann shift with the rank-sum interval, or Student's with Welch's degrees where there
//! are too few for that. Of single values nothing is known.

use record::Better;
use stats::{Comparison, Interval, Knowledge};

use super::configuration::TestRow;
use super::{Options, Sample};

/// Percentages in documents have this many decimals: enough for any that is printed.
const PERCENT_DECIMALS: f64 = 1e4;
/// Probabilities in documents have this many.
const PROBABILITY_DECIMALS: f64 = 1e6;
/// From this many values on, order statistics bound the median at 95 %.
const ORDER_STATISTICS_FROM: usize = 6;

/// What is compared in one row: the values of both sides, run by run, in one quantity.
pub(super) struct Gathered<'t> {
    pub(super) row: TestRow<'t>,
    pub(super) candidate: String,
    pub(super) unit: String,
    pub(super) better: Better,
    pub(super) sides: [Vec<Sample>; 2],
    /// Runs of each side whose program failed.
    pub(super) failed: [usize; 2],
    /// Earlier runs; `None` for one that lacks the row.
    pub(super) history: Vec<Option<Sample>>,
}

impl Gathered<'_> {
    /// The margin in percent.
    pub(super) fn declared_percent(&self, options: &Options) -> f64 {
        options.margin_percent.unwrap_or(self.row.test.weight.margin_percent())
    }

    /// The same in cycles of the core, where every run of both sides knows them.
    pub(super) fn in_core_cycles(self) -> Self {
        let all = self.sides.iter().flatten().all(|sample| sample.core_cycles.is_some());
        if !all {
            return self;
        }
        let convert = |sample: &Sample| in_core_cycles(sample, self.better);
        Self {
            unit: "cycles".to_owned(),
            sides: self.sides.each_ref().map(|side| side.iter().filter_map(convert).collect()),
            history: self.history.iter().map(|sample| sample.as_ref().and_then(convert)).collect(),
            better: Better::Lower,
            ..self
        }
    }
}

/// What a row's two sides differ by, and how that is known.
#[derive(Clone, Copy, Default)]
pub(super) struct Cost {
    /// The candidate's cost over the baseline's; `None` where their spread is not known.
    pub(super) comparison: Option<Comparison>,
    pub(super) standard_error: Option<f64>,
    pub(super) q: Option<f64>,
    pub(super) knowledge: Knowledge,
}

/// A sample as a cost in cycles of the core; `None` if they are not known.
fn in_core_cycles(sample: &Sample, better: Better) -> Option<Sample> {
    let cycles = sample.core_cycles?;
    let share = |end: f64| if better == Better::Lower { end / sample.value } else { sample.value / end };
    let interval = sample.interval.filter(|interval| interval.low > 0.0);
    Some(Sample {
        value: cycles,
        interval: interval.map(|interval| interval.map(|end| cycles * share(end))),
        ..*sample
    })
}

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

/// Of replicates from elsewhere, each row by itself and all rows one family.
pub(super) fn costs_of_replicates(gathered: &[Gathered<'_>]) -> Vec<Cost> {
    let found: Vec<Option<Comparison>> =
        gathered.iter().map(|row| difference(row.sides.each_ref().map(Vec::as_slice), row.better)).collect();
    let p_values: Vec<f64> = found.iter().flatten().map(|one| one.p).collect();
    let mut adjusted = stats::benjamini_hochberg(&p_values).into_iter();
    let cost = |comparison: Option<Comparison>| Cost {
        comparison,
        standard_error: comparison.and_then(|one| one.standard_error()),
        q: comparison.and_then(|_| adjusted.next()),
        knowledge: Knowledge::None,
    };
    found.into_iter().map(cost).collect()
}

/// The difference of the second side from the first as a cost; `None` if their spread is not known.
fn difference(sides: [&[Sample]; 2], better: Better) -> Option<Comparison> {
    // A rate as the time it stands for.
    let cost = |value: f64| if better == Better::Lower { value } else { value.recip() };
    let [a, b] = sides.map(|side| values(side).into_iter().map(cost).collect::<Vec<f64>>());
    let groups = Comparison::of_groups(&a, &b)?;
    let found = if groups.interval.is_some() { Some(groups) } else { welch(&a, &b) };
    let has_width = |ends: Interval| ends.high > ends.low;
    found.filter(|found| found.interval.is_some_and(has_width) && found.equivalence_interval.is_some())
}

/// A percentage as documents hold it.
pub(super) fn as_percent(value: f64) -> f64 {
    (value * PERCENT_DECIMALS).round() / PERCENT_DECIMALS
}

pub(super) fn rounded(value: f64) -> f64 {
    (value * PROBABILITY_DECIMALS).round() / PROBABILITY_DECIMALS
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
        difference([a, b], Better::Lower)
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
        let found = difference(sides.each_ref().map(Vec::as_slice), Better::Higher);
        assert!((found.expect("replicates").ratio - 2.0).abs() < 1e-12);
    }

    #[test]
    fn cycles_keep_the_interval_in_proportion_whichever_way_the_unit_goes() {
        let interval = Some(Interval { low: 1.0, high: 4.0 });
        let sample = Sample { interval, core_cycles: Some(10.0), ..Sample::plain(2.0) };
        for (better, low, high) in [(Better::Lower, 5.0, 20.0), (Better::Higher, 5.0, 20.0)] {
            let found = in_core_cycles(&sample, better).expect("cycles");
            let ends = found.interval.expect("an interval");
            assert!((ends.low - low).abs() < 1e-12 && (ends.high - high).abs() < 1e-12, "{found:?}");
        }
        assert_eq!(in_core_cycles(&Sample::plain(1.0), Better::Lower), None);
    }
}
