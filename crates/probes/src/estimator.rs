//! The one estimator: which quantile of the windows stands for a class of numbers, how epochs become one value, and how far off it may be.
//!
//! An epoch measures on fresh mappings, visits each several times, and takes windows in each visit. What the windows of an epoch share, the
//! next epoch does not, so the epoch is the unit (`judge`). Probes hand their windows over as the record keeps them, so that any
//! estimate can be made again from a record.
//!
//! The table is the one place of the choice, by list of results: what a list holds scatters alike, and may belong to several classes of
//! rows, as latency does by the level of its block. `cargo evidence estimators` repeats the study on any set of records.

pub(crate) mod judge;

use std::fmt;

use record::{Metric, RawSeries, Spread, metric};

use judge::{EpochEstimate, Judge, Row};

/// A number with its spread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    pub(crate) value: f64,
    pub(crate) spread: Spread,
}

/// Which way noise goes, and so where the undisturbed end of the windows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// It only adds: the undisturbed end is low.
    Adds,
    /// It only takes away: the undisturbed end is high.
    Takes,
    /// Both: a quantile is counted from below.
    Both,
}

/// How the values of epochs become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Join {
    /// The one nearest to the undisturbed end.
    Best,
    /// The median.
    Median,
}

/// The estimator of a list of results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimator {
    /// What its rows measure.
    pub metrics: &'static [&'static Metric],
    /// How the names of its raw series begin.
    pub prefix: &'static str,
    /// Which way its noise goes.
    pub noise: Noise,
    /// Percentage of an epoch's windows below its value, counted from the undisturbed end; `None`: the value that the probe
    /// itself makes of them.
    pub percent: Option<u8>,
    /// How the epochs are joined.
    pub join: Join,
    /// What epochs of an unchanged machine differ by, as a share of the value: a standard deviation, before any was seen.
    pub between_epochs: f64,
}

const fn row(
    metrics: &'static [&'static Metric],
    prefix: &'static str,
    noise: Noise,
    percent: Option<u8>,
    join: Join,
    between_epochs: f64,
) -> Estimator {
    Estimator { metrics, prefix, noise, percent, join, between_epochs }
}

/// The choice by list. Source of quantiles and joins: sixty quick check-ups and 45 beside a neighbour that starts and stops, each
/// standing for an epoch, and six default ones, on a guest; METHODOLOGY has the table of spreads between runs. Of bandwidth, parallel
/// chains, loaded latency and lines, and of all spreads between epochs: eight quick and four default check-ups of a guest with a neighbour on
/// the sibling thread, held against as many others. Where another quantile is steadier and would change what the number means
/// (waking: its median), the meaning wins. Rows of sockets are of one epoch, and are compared with each other alone.
pub static TABLE: [Estimator; 13] = [
    row(&[&metric::MULTIPLY], "control,", Noise::Adds, Some(5), Join::Best, 0.02),
    row(&[&metric::LATENCY], "latency,", Noise::Adds, Some(5), Join::Best, 0.03),
    row(&[&metric::LOADED], "loaded latency,", Noise::Adds, Some(25), Join::Median, 0.04),
    row(&[&metric::PARALLEL], "parallel,", Noise::Adds, Some(25), Join::Median, 0.10),
    row(&[&metric::WALKS], "walks,", Noise::Both, Some(25), Join::Median, 0.02),
    row(&[&metric::BANDWIDTH], "bandwidth,", Noise::Takes, Some(10), Join::Median, 0.06),
    row(
        &[&metric::STREAM, &metric::NODE_BANDWIDTH, &metric::PACKAGE_BANDWIDTH],
        "stream,",
        Noise::Takes,
        Some(25),
        Join::Median,
        0.05,
    ),
    row(&[&metric::COMPUTE], "compute,", Noise::Takes, Some(50), Join::Median, 0.02),
    row(&[&metric::LINE_TRANSFER], "line transfer,", Noise::Adds, Some(50), Join::Median, 0.06),
    row(&[&metric::SHARING, &metric::UNLIKE], "sharing,", Noise::Both, Some(50), Join::Median, 0.01),
    row(&[&metric::WAKE], "wake-up", Noise::Adds, Some(50), Join::Median, 0.12),
    row(&[&metric::CLOCK_READ], "price of", Noise::Adds, None, Join::Median, 0.02),
    row(&[&metric::NODE_LATENCY], "latency of CPU", Noise::Adds, Some(25), Join::Median, 0.005),
];

impl Estimator {
    /// That of a raw series, by its name.
    pub fn of_series(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|row| name.starts_with(row.prefix))
    }

    /// That of a list, by what its rows measure; `None` for those that no probe fills.
    pub fn of_metric(metric: &Metric) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.metrics.contains(&metric))
    }

    /// What the list is called: the beginning of its series' names.
    pub fn name(&self) -> &'static str {
        self.prefix.trim_end_matches([',', ' '])
    }

    /// The value of an epoch from its windows; `None` without one.
    pub fn of_windows(&self, windows: &[f64]) -> Option<f64> {
        let share = f64::from(self.percent?) / 100.0;
        stats::quantile(windows, if self.noise == Noise::Takes { 1.0 - share } else { share })
    }

    /// From the undisturbed end on.
    pub(crate) fn least_disturbed_first(&self, values: &[f64]) -> Vec<f64> {
        let mut ascending = stats::sorted(values);
        if self.noise == Noise::Takes {
            ascending.reverse();
        }
        ascending
    }

    /// What one epoch says by its raw windows; `None` without one.
    pub(crate) fn of_epoch(&self, raw: &RawSeries, dropped: usize, scale: f64) -> Option<Measured> {
        let epochs = vec![EpochEstimate::of(self, raw, dropped)?];
        let row = Row { scale, group: 0, epochs };
        let judged = Judge::of(self, std::iter::empty()).judge(&row)?;
        let spread = Spread { epochs: Vec::new(), estimator: String::new(), ..judged.spread };
        Some(Measured { value: judged.value, spread })
    }

    /// The epochs' values as one; `None` for none.
    pub fn joined(&self, values: &[f64]) -> Option<f64> {
        let ascending = stats::sorted(values);
        match (self.join, self.noise) {
            (Join::Best, Noise::Takes) => ascending.last().copied(),
            (Join::Best, _) => ascending.first().copied(),
            (Join::Median, _) => stats::median(&ascending),
        }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Best => "best_of_epochs",
            Self::Median => "median_of_epochs",
        })
    }
}

/// As a row's document names it: `p5_best_of_epochs`; of rates counted from below, too: `p75_median_of_epochs`.
impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.percent {
            Some(percent) if self.noise == Noise::Takes => write!(f, "p{}_{}", 100 - percent, self.join),
            Some(percent) => write!(f, "p{percent}_{}", self.join),
            None => write!(f, "own_{}", self.join),
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{ListVisitor, MeasuredRow, Record, visit_cores, visit_memory};

    use super::*;
    use crate::saved;

    #[test]
    fn saved_windows_give_the_stored_values() {
        let estimate = |series: saved::SavedSeries| {
            let visits =
                series.visits.iter().map(|(_, windows)| windows.iter().map(|&one| one as f32).collect());
            let mapping_of_visit = series.visits.iter().map(|(mapping, _)| *mapping).collect();
            let visits = visits.collect();
            let raw = RawSeries { visits, mapping_of_visit, ..RawSeries::default() };
            let measured = Estimator::of_series(series.name)?.of_epoch(&raw, 0, 0.0)?;
            Some((series.name, measured.value, measured.spread))
        };
        let found: Vec<_> = saved::series("").into_iter().filter_map(estimate).collect();
        saved::check("estimates", &found);
    }

    /// Every list that epochs have: one without a row of the table would be lost.
    struct HasRow;

    impl ListVisitor for HasRow {
        fn list<R: MeasuredRow>(
            &mut self,
            _of: fn(&Record) -> Option<&Vec<R>>,
            _of_mut: fn(&mut Record) -> Option<&mut Vec<R>>,
        ) {
            assert!(Estimator::of_metric(R::METRIC).is_some(), "{}", R::METRIC.name);
        }
    }

    #[test]
    fn every_series_leads_to_its_row_and_every_list_has_one() {
        for row in &TABLE {
            assert_eq!(Estimator::of_series(&format!("{} x", row.prefix)), Some(row));
        }
        let loaded = Estimator::of_series("loaded latency, 1 CPUs").expect("a row");
        assert_eq!(loaded.metrics, [&metric::LOADED]);
        assert_eq!(Estimator::of_series("nonsense"), None);
        visit_memory(&mut HasRow);
        visit_cores(&mut HasRow);
    }

    #[test]
    fn names_say_quantile_and_join_and_values_obey_them() {
        let of = |metric| Estimator::of_metric(metric).expect("a row");
        let [latency, stream, clocks] = [&metric::LATENCY, &metric::STREAM, &metric::CLOCK_READ].map(of);
        assert_eq!(latency.to_string(), "p5_best_of_epochs");
        assert_eq!(stream.to_string(), "p75_median_of_epochs");
        assert_eq!(clocks.to_string(), "own_median_of_epochs");
        let windows: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(latency.of_windows(&windows), Some(5.0));
        assert_eq!(stream.of_windows(&windows), Some(75.0));
        assert_eq!(clocks.of_windows(&windows), None);
        assert_eq!(latency.joined(&[3.0, 1.0, 2.0]), Some(1.0));
        assert_eq!(stream.joined(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(stream.joined(&[]), None);
    }
}
