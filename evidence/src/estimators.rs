//! `cargo evidence estimators`: which estimator of each class is steady between runs, on any set of records.
//!
//! Every record stands for one epoch; records one after the other make runs of three. For each class, quantile and join: the
//! standard deviation between runs of the logarithm, median over the rows of the class.

use std::collections::BTreeMap;
use std::path::Path;

use probes::estimator::{self, Estimator, Noise, TABLE};
use probes::plan::EPOCHS;

use crate::{Broken, records};

/// Which estimator of each class is steady between runs
///
/// Every record stands for one epoch (make them with sidestep run --epochs 1). Prints a Markdown table: by class, quantile of the
/// windows and join of three epochs, the standard deviation between runs. The choice is crates/probes/src/estimator.rs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Records or folders of runs, in the order they were made
    #[arg(required = true)]
    paths: Vec<String>,
}

/// Quantiles that are tried, in percent from the undisturbed end.
const PERCENTS: [u8; 6] = [0, 5, 10, 25, 50, 75];
/// A series with fewer windows has no quantiles.
const WINDOWS_MIN: usize = 5;

/// How epochs are joined, for the study: more ways than the table uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Join {
    Best,
    Median,
    Mean,
    /// One epoch alone.
    One,
}

impl Join {
    const ALL: [Self; 4] = [Self::Best, Self::Median, Self::Mean, Self::One];

    /// Values of runs from logarithms of epochs.
    fn runs(self, epochs: &[f64], noise: Noise) -> Vec<f64> {
        let of_run = |run: &[f64]| {
            let ascending = stats::sorted(run);
            match self {
                Self::Best if noise == Noise::Takes => ascending[ascending.len() - 1],
                Self::Best => ascending[0],
                Self::Median => ascending[ascending.len() / 2],
                Self::Mean | Self::One => stats::mean(&ascending),
            }
        };
        epochs.chunks_exact(if self == Self::One { 1 } else { EPOCHS }).map(of_run).collect()
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Broken> {
    print!("{}", text(&of_records(&arguments.paths)?));
    Ok(Broken::new())
}

/// By the prefix of their estimator and percentage: for each row the logarithms of its epochs.
type Table = BTreeMap<(&'static str, u8), Vec<Vec<f64>>>;

fn of_records(paths: &[String]) -> anyhow::Result<Table> {
    let mut series: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    for path in paths {
        for raw in records::read(Path::new(path))?.raw {
            let windows: Vec<f64> = raw.visits.iter().flatten().map(|&value| f64::from(value)).collect();
            if windows.len() >= WINDOWS_MIN {
                series.entry(raw.name).or_default().push(windows);
            }
        }
    }
    let mut table = Table::new();
    for (name, epochs) in series.iter().filter(|(_, epochs)| epochs.len() == paths.len()) {
        for percent in PERCENTS {
            let Some((prefix, share)) = share(name, percent) else { continue };
            let values = epochs.iter().map(|windows| stats::quantile(windows, share)).collect();
            add(&mut table, (prefix, percent), values);
        }
    }
    Ok(table)
}

/// The prefix of a series' estimator, and the share of its windows below a percentage from its undisturbed end.
fn share(name: &str, percent: u8) -> Option<(&'static str, f64)> {
    let estimator = Estimator::of_series(name)?;
    let share = f64::from(percent) / 100.0;
    Some((estimator.prefix, if estimator.noise == Noise::Takes { 1.0 - share } else { share }))
}

/// A row that all epochs have and that has a logarithm.
fn add(table: &mut Table, key: (&'static str, u8), values: Option<Vec<f64>>) {
    let Some(values) = values.filter(|values| values.iter().all(|&value| value > 0.0)) else { return };
    table.entry(key).or_default().push(values.iter().map(|value| value.ln()).collect());
}

fn deviation(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| stats::sample_variance(values).sqrt())
}

/// Standard deviation between runs in percent, median over rows.
fn between_runs(rows: &[Vec<f64>], join: Join, noise: Noise) -> Option<f64> {
    let deviations: Vec<f64> = rows.iter().filter_map(|row| deviation(&join.runs(row, noise))).collect();
    stats::median(&deviations).map(|deviation| 100.0 * deviation)
}

fn text(table: &Table) -> String {
    let mut lines = vec![
        format!(
            "standard deviation between runs of {EPOCHS} epochs, %, median over rows; * the estimator in use"
        ),
        "| class | quantile from the undisturbed end | rows | best | median | mean | one epoch |".to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    for estimator in &TABLE {
        for percent in PERCENTS {
            let Some(rows) = table.get(&(estimator.prefix, percent)) else { continue };
            let cell = |join: Join| {
                let in_use = estimator.percent == Some(percent)
                    && match estimator.join {
                        estimator::Join::Best => join == Join::Best,
                        estimator::Join::Median => join == Join::Median,
                    };
                let value = between_runs(rows, join, estimator.noise);
                value.map_or_else(
                    || "-".to_owned(),
                    |value| format!("{value:.2}{}", if in_use { " *" } else { "" }),
                )
            };
            let cells = Join::ALL.map(cell).join(" | ");
            let name = estimator.prefix.trim_end_matches([',', ' ']);
            lines.push(format!("| {name} | {percent} % | {} | {cells} |", rows.len()));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_made_of_epochs_in_turn_and_scatter_less_when_the_best_counts() {
        let epochs = [0.0, 0.3, 0.1, 0.0, 0.0, 0.5, 0.0, 0.2, 0.2, 9.0];
        assert_eq!(Join::Best.runs(&epochs, Noise::Adds), [0.0, 0.0, 0.0]);
        assert_eq!(Join::Best.runs(&epochs, Noise::Takes), [0.3, 0.5, 0.2]);
        assert_eq!(Join::Median.runs(&epochs, Noise::Adds), [0.1, 0.0, 0.2]);
        assert_eq!(Join::One.runs(&epochs, Noise::Adds).len(), 10);
        assert_eq!(between_runs(&[epochs.to_vec()], Join::Best, Noise::Adds), Some(0.0));
    }
}
