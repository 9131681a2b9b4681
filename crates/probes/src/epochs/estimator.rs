//! Which estimator stands for a class of numbers: chosen by its measured spread between runs, not by habit.
//!
//! The one table of the choice. `cargo xtask estimators` repeats the study on any set of records.

use std::fmt;

/// Numbers that scatter alike, and so share an estimator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Control loops.
    Control,
    /// Latency of the surface.
    Latency,
    /// Latency in different orders.
    Orders,
    /// Latency beside load.
    Loaded,
    /// Several chases at once.
    Parallel,
    /// Page walks: differences of two latencies.
    Walks,
    /// Bandwidth against block size.
    Bandwidth,
    /// STREAM.
    Stream,
    /// Compute loops.
    Compute,
    /// One line between two CPUs.
    LineTransfer,
    /// A loop beside another over alone.
    Sharing,
    /// Waking a CPU.
    Wake,
    /// Prices of reading time.
    Clocks,
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

/// The estimator of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimator {
    /// The class.
    pub class: Class,
    /// How the names of its raw series begin.
    pub prefix: &'static str,
    /// Which way its noise goes.
    pub noise: Noise,
    /// Percentage of an epoch's windows below its value, counted from the undisturbed end; `None`: the value that the probe
    /// itself makes of them.
    pub percent: Option<u8>,
    /// How the epochs are joined.
    pub join: Join,
    /// Half-width to be reached, as a share of the value: that of the probe.
    pub half_width: f64,
}

const fn row(
    class: Class,
    prefix: &'static str,
    noise: Noise,
    percent: Option<u8>,
    join: Join,
    half_width: f64,
) -> Estimator {
    Estimator { class, prefix, noise, percent, join, half_width }
}

/// The choice by class. Source: sixty quick check-ups and 45 beside a neighbour that starts and stops, each standing for an
/// epoch, and six default ones, on a guest; METHODOLOGY has the table of spreads between runs. Where a lower quantile is hardly
/// steadier and would change what the number means (waking: its median), the meaning wins.
pub const TABLE: [Estimator; 13] = [
    row(Class::Control, "control,", Noise::Adds, Some(5), Join::Best, 0.01),
    row(Class::Latency, "latency,", Noise::Adds, Some(5), Join::Best, 0.01),
    row(Class::Orders, "order ", Noise::Adds, Some(5), Join::Best, 0.02),
    row(Class::Loaded, "loaded latency,", Noise::Adds, Some(5), Join::Best, 0.02),
    row(Class::Parallel, "parallel,", Noise::Adds, Some(5), Join::Median, 0.02),
    row(Class::Walks, "walks,", Noise::Both, Some(25), Join::Median, 0.03),
    row(Class::Bandwidth, "bandwidth,", Noise::Takes, Some(25), Join::Median, 0.02),
    row(Class::Stream, "stream,", Noise::Takes, Some(25), Join::Median, 0.02),
    row(Class::Compute, "compute,", Noise::Takes, Some(50), Join::Median, 0.02),
    row(Class::LineTransfer, "line transfer,", Noise::Adds, Some(5), Join::Median, 0.05),
    row(Class::Sharing, "sharing,", Noise::Both, Some(50), Join::Median, 0.03),
    row(Class::Wake, "wake-up", Noise::Adds, Some(50), Join::Median, 0.1),
    row(Class::Clocks, "price of", Noise::Adds, None, Join::Median, 0.02),
];

impl Class {
    /// Its estimator.
    pub fn estimator(self) -> &'static Estimator {
        TABLE.iter().find(|row| row.class == self).expect("every class has a row: a test counts them")
    }

    /// The class of a raw series, by its name.
    pub fn of_series(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| name.starts_with(row.prefix)).map(|row| row.class)
    }
}

impl Estimator {
    /// The value of an epoch from its windows; `None` without one.
    pub fn of_windows(&self, windows: &[f64]) -> Option<f64> {
        let share = f64::from(self.percent?) / 100.0;
        stats::quantile(windows, if self.noise == Noise::Takes { 1.0 - share } else { share })
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
    use super::*;

    #[test]
    fn every_class_has_one_row_that_its_series_lead_to() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.class as usize, index);
            assert_eq!(row.class.estimator(), row);
            assert_eq!(Class::of_series(&format!("{} x", row.prefix)), Some(row.class));
        }
        assert_eq!(Class::of_series("loaded latency, 1 CPUs"), Some(Class::Loaded));
        assert_eq!(Class::of_series("nonsense"), None);
    }

    #[test]
    fn names_say_quantile_and_join_and_values_obey_them() {
        assert_eq!(Class::Latency.estimator().to_string(), "p5_best_of_epochs");
        assert_eq!(Class::Stream.estimator().to_string(), "p75_median_of_epochs");
        assert_eq!(Class::Clocks.estimator().to_string(), "own_median_of_epochs");
        let windows: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(Class::Latency.estimator().of_windows(&windows), Some(5.0));
        assert_eq!(Class::Stream.estimator().of_windows(&windows), Some(75.0));
        assert_eq!(Class::Clocks.estimator().of_windows(&windows), None);
        assert_eq!(Class::Latency.estimator().joined(&[3.0, 1.0, 2.0]), Some(1.0));
        assert_eq!(Class::Stream.estimator().joined(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(Class::Stream.estimator().joined(&[]), None);
    }
}
