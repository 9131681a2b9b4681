//! How far the rows of unchanged runs spread, and how often the interval of one run holds the median of the others.

use std::collections::BTreeMap;

use experiments::compare::{Configuration, Coordinates, Sample};
use stats::RowClass;

use super::saved::Saved;
use crate::table::{head, percent};

/// Runs whose median stands for what a machine does. Source: the goal for coverage, 20 later runs.
const RUNS_OF_A_MEDIAN: usize = 20;

/// One cell of one test.
type Place<'r> = (&'r str, Coordinates);

/// What is known of a class.
#[derive(Default)]
struct Class {
    /// Standard deviation between runs of the logarithm, by cell.
    spreads: Vec<f64>,
    /// Intervals that held the median of the other runs, and all.
    held: [usize; 2],
}

/// Prints a Markdown table by class of rows.
pub(super) fn print(saved: &Saved) {
    let runs: Vec<Configuration> = (0..saved.count()).map(|index| saved.run(index, &|_, _| 1.0)).collect();
    let mut series: BTreeMap<Place<'_>, (RowClass, Vec<Sample>)> = BTreeMap::new();
    for run in &runs {
        for test in &run.tests {
            for (at, cell) in &test.cells {
                if let (Some(class), Some(sample)) = (cell.class, cell.samples.first()) {
                    series.entry((&test.name, *at)).or_insert((class, Vec::new())).1.push(*sample);
                }
            }
        }
    }
    let mut classes: BTreeMap<RowClass, Class> = BTreeMap::new();
    for (class, samples) in series.into_values() {
        let known = classes.entry(class).or_default();
        let logs: Vec<f64> = samples.iter().map(|sample| cost(sample).ln()).collect();
        if logs.len() > 1 {
            known.spreads.push(100.0 * stats::sample_variance(&logs).sqrt());
        }
        for [held, all] in covered(&samples) {
            known.held = [known.held[0] + held, known.held[1] + all];
        }
    }
    println!();
    head(
        "class | cells | spread between runs, median (90 %) | interval of one run holds the median of others",
    );
    for (class, known) in classes {
        let ascending = stats::sorted(&known.spreads);
        let at = |share: f64| stats::quantile_of_sorted(&ascending, share).unwrap_or(f64::NAN);
        let [held, all] = known.held;
        let covered = if all == 0 {
            "too few runs".to_owned()
        } else {
            format!("{:.0} % of {all}", percent(held, all))
        };
        println!(
            "| {} | {} | {:.2} ({:.2}) % | {covered} |",
            class.name(),
            ascending.len(),
            at(0.5),
            at(0.9)
        );
    }
}

/// In cycles of the core where the run knows them, as records are compared.
fn cost(sample: &Sample) -> f64 {
    sample.core_cycles.unwrap_or(sample.value)
}

/// For each run with an interval and enough runs after it: does it hold the median of those, one of one?
fn covered(samples: &[Sample]) -> impl Iterator<Item = [usize; 2]> {
    samples.iter().enumerate().filter_map(|(at, sample)| {
        let later: Vec<f64> =
            samples[at + 1..].iter().take(RUNS_OF_A_MEDIAN).map(|other| other.value).collect();
        let interval = sample.interval.filter(|_| later.len() == RUNS_OF_A_MEDIAN)?;
        let median = stats::median(&later)?;
        Some([usize::from(interval.low <= median && median <= interval.high), 1])
    })
}
