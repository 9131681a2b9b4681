//! What many experiments with equal arms found: every difference is a false alarm.

use std::fmt;

use stats::{
    Comparison, Random, Step, Stopping, Verdict, clopper_pearson, hodges_lehmann, median, quad_means,
    quantile, signed_rank_p,
};

use crate::table::head;

use super::experiment::{Source, before_after, by_pairs, by_quads};

/// Level of all intervals.
const LEVEL: f64 = 0.95;
/// Alarms of a test at its nominal level.
const ALPHA: f64 = 0.05;
/// Pairs of an experiment of fixed length.
const PAIRS: usize = 30;
/// Pairs at most of one that stops by itself.
const PAIRS_MAX: usize = 60;
/// Trials of the longest experiment.
pub(super) const TRIALS: usize = 2 * PAIRS_MAX;
/// Pairs after which one that stops by itself is looked at first.
const PAIRS_MIN: usize = 12;
/// Pairs between two looks of one that stops by itself.
const PAIRS_PER_LOOK: usize = 2;
/// The half-width at which one that stops by itself does.
const PRECISION: f64 = 0.01;
/// Margin of a claimed difference.
const MARGIN: f64 = 0.01;

/// Experiments of a fixed length: the same trials before/after and interleaved.
#[derive(Debug, Clone, Default)]
pub(super) struct Alarms {
    name: String,
    experiments: usize,
    before_after: usize,
    before_after_errors: Vec<f64>,
    coin_per_pair: Design,
    errors: Vec<f64>,
    claims: usize,
    coin_per_quad: Design,
    mean_of_quad: Design,
}

/// One way to order the trials and to compare them.
#[derive(Debug, Clone, Default)]
struct Design {
    alarms: usize,
    half_widths: Vec<f64>,
}

impl Design {
    fn add(&mut self, logs: &[f64]) {
        let interval = hodges_lehmann(logs, LEVEL).and_then(|shift| shift.interval);
        let interval = interval.expect("fifteen finite trials have an interval");
        self.alarms += usize::from(!interval.contains(0.0));
        self.half_widths.push(interval.half_width());
    }

    fn half_width(&self) -> String {
        percent(median(&self.half_widths))
    }
}

impl Alarms {
    /// Runs the experiments; each has a stream of random numbers of its own.
    pub(super) fn of(source: &impl Source, experiments: usize, seed: u64) -> Self {
        let mut alarms = Self { name: source.name().to_owned(), experiments, ..Self::default() };
        for experiment in 0..experiments {
            let random = &mut Random::for_stream(seed, experiment as u64);
            alarms.add(&source.trials(2 * PAIRS, random), random);
        }
        alarms
    }

    fn add(&mut self, trials: &[f64], random: &mut Random) {
        let sequential = before_after(trials);
        self.before_after += usize::from(sequential.p <= ALPHA);
        self.before_after_errors.push(sequential.difference.abs());
        let logs = by_pairs(trials, random);
        self.coin_per_pair.add(&logs);
        let comparison = Comparison::of_log_ratios(&logs).expect("trials are finite");
        self.errors.push(comparison.ratio.ln().abs());
        let verdict = comparison.verdict(MARGIN);
        self.claims += usize::from(matches!(verdict, Verdict::Faster | Verdict::Slower));
        let logs = by_quads(trials, random);
        self.coin_per_quad.add(&logs);
        self.mean_of_quad.add(&quad_means(&logs));
    }

    /// Share of experiments interleaved by pairs whose raw interval excludes no change.
    pub(super) fn rate(&self) -> f64 {
        self.coin_per_pair.alarms as f64 / self.experiments as f64
    }

    /// Share of before/after experiments that found something.
    #[cfg(test)]
    pub(super) fn before_after_rate(&self) -> f64 {
        self.before_after as f64 / self.experiments as f64
    }
}

/// Prints the head of the table whose rows are [`Alarms`].
pub(super) fn alarms_head(experiments: usize) {
    println!(
        "False alarms at 5 %: {experiments} experiments per row, {PAIRS} pairs, best of 5 samples per trial, the same \
         trials in all designs; Clopper-Pearson intervals at 95 %; claims are beyond {:.0} %\n",
        100.0 * MARGIN
    );
    head(
        "series | before/after, Welch | its error, p95 | by pair, raw | interval | its error, p95 | half-width | claims | by quad, of pairs | interval | half-width | by quad, of quads | half-width",
    );
}

impl fmt::Display for Alarms {
    /// A row of Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |count: usize| share(count, self.experiments);
        let exact = |count: usize| {
            let interval = clopper_pearson(count, self.experiments, LEVEL).unwrap_or_default();
            format!("{:.1}", interval.map(|end| 100.0 * end))
        };
        let [pairs, quads, means] = [&self.coin_per_pair, &self.coin_per_quad, &self.mean_of_quad];
        let cells = [
            self.name.clone(),
            share(self.before_after),
            percent(quantile(&self.before_after_errors, LEVEL)),
            share(pairs.alarms),
            exact(pairs.alarms),
            percent(quantile(&self.errors, LEVEL)),
            pairs.half_width(),
            share(self.claims),
            share(quads.alarms),
            exact(quads.alarms),
            quads.half_width(),
            share(means.alarms),
            means.half_width(),
        ];
        write!(f, "| {} |", cells.join(" | "))
    }
}

/// Experiments that stop by themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Stops {
    name: String,
    experiments: usize,
    on_width: Design,
    /// Pairs when the width ended it, or the budget.
    pairs: Vec<f64>,
    on_significance: usize,
}

impl Stops {
    /// Runs the experiments under both rules.
    pub(super) fn of(source: &impl Source, experiments: usize, seed: u64) -> Self {
        let mut stops = Self { name: source.name().to_owned(), experiments, ..Self::default() };
        for experiment in 0..experiments {
            let random = &mut Random::for_stream(seed, experiment as u64);
            let logs = by_pairs(&source.trials(TRIALS, random), random);
            stops.add(&logs);
        }
        stops
    }

    fn add(&mut self, logs: &[f64]) {
        let rule = Stopping { precision: PRECISION, budget_pairs: PAIRS_MAX };
        let looks = || (PAIRS_MIN..=PAIRS_MAX).step_by(PAIRS_PER_LOOK);
        let stopped = looks().find(|pairs| !matches!(rule.after(&logs[..*pairs]), Step::GoOn { .. }));
        let stopped = stopped.expect("the budget ends it at the last look");
        self.on_width.add(&logs[..stopped]);
        self.pairs.push(stopped as f64);
        self.on_significance += usize::from(looks().any(|pairs| signed_rank_p(&logs[..pairs]) <= ALPHA));
    }
}

/// Prints the head of the table whose rows are [`Stops`].
pub(super) fn stops_head(experiments: usize) {
    println!(
        "\nFalse alarms at 5 % by what ends an experiment: {experiments} experiments per row, {PAIRS_MIN} to {PAIRS_MAX} \
         pairs; the half-width is below {:.0} %\n",
        100.0 * PRECISION
    );
    head("series | half-width | its pairs, median | significance");
}

impl fmt::Display for Stops {
    /// A row of Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [width, significance] =
            [self.on_width.alarms, self.on_significance].map(|n| share(n, self.experiments));
        let pairs = median(&self.pairs).unwrap_or(f64::NAN);
        write!(f, "| {} | {width} | {pairs:.0} | {significance} |", self.name)
    }
}

fn share(count: usize, of: usize) -> String {
    format!("{:.1} %", 100.0 * count as f64 / of as f64)
}

fn percent(value: Option<f64>) -> String {
    format!("{:.2} %", 100.0 * value.unwrap_or(f64::NAN))
}
