//! What experiments see of effects planted in them, by number of pairs.

use std::fmt;

use stats::{Comparison, Random, Verdict};

use crate::table::head;

use super::experiment::{Source, by_pairs};
use super::rates::TRIALS;

/// Margin of equivalence.
const MARGIN: f64 = 0.02;
/// Pairs of the experiments: one row each.
const PAIRS: [usize; 3] = [12, 30, 60];
/// Planted effects: one column each.
const EFFECTS: [f64; 3] = [0.01, 0.02, 0.05];

/// The rows of one series.
#[derive(Debug, Clone)]
pub(super) struct Power {
    name: String,
    experiments: usize,
    rows: [Row; PAIRS.len()],
}

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    pairs: usize,
    detected: [usize; EFFECTS.len()],
    equivalent: usize,
    errors: f64,
}

impl Power {
    /// Runs the experiments and plants each effect in all of them.
    pub(super) fn of(source: &impl Source, experiments: usize, seed: u64) -> Self {
        let mut rows = PAIRS.map(|pairs| Row { pairs, ..Row::default() });
        for experiment in 0..experiments {
            let random = &mut Random::for_stream(seed, experiment as u64);
            let logs = by_pairs(&source.trials(TRIALS, random), random);
            for row in &mut rows {
                row.add(&logs[..row.pairs]);
            }
        }
        Self { name: source.name().to_owned(), experiments, rows }
    }
}

impl Row {
    fn add(&mut self, logs: &[f64]) {
        let comparison = Comparison::of_log_ratios(logs).expect("trials are finite");
        let interval = comparison.interval.expect("twelve pairs have an interval").map(f64::ln);
        // A constant added to every log ratio moves the interval by as much.
        for (detected, effect) in self.detected.iter_mut().zip(EFFECTS) {
            *detected += usize::from(interval.low + effect.ln_1p() > 0.0);
        }
        self.equivalent += usize::from(comparison.verdict(MARGIN) == Verdict::Equivalent);
        self.errors += comparison.ratio.ln().abs();
    }
}

/// Prints the head of the table whose rows are [`Power`].
pub(super) fn power_head(experiments: usize) {
    println!(
        "\nPower: {experiments} experiments per row; the share that sees a planted effect at 95 %, and the share that \
         proves \"no cost\" within {:.0} % where there is none\n",
        100.0 * MARGIN
    );
    head("series | pairs | sees 1 % | sees 2 % | sees 5 % | proves no cost | mean error");
}

impl fmt::Display for Power {
    /// Rows of Markdown, each with its line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |count: usize| format!("{:.0} %", 100.0 * count as f64 / self.experiments as f64);
        for row in &self.rows {
            let [one, two, five] = row.detected.map(share);
            let (equivalent, error) = (share(row.equivalent), 100.0 * row.errors / self.experiments as f64);
            writeln!(
                f,
                "| {} | {} | {one} | {two} | {five} | {equivalent} | {error:.2} % |",
                self.name, row.pairs
            )?;
        }
        Ok(())
    }
}
