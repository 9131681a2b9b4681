//! What an experiment is made around, seen from its course: rows, guards, one trial at a time.

use record::Better;
use stats::{Arm, Guard, Guarded, guarded, quad_means};

/// Trials of a quad.
pub const TRIALS_PER_QUAD: usize = 4;
/// Pairs of a quad.
pub const PAIRS_PER_QUAD: usize = 2;

/// One thing that every trial measures.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSpec {
    /// What it is called in the table.
    pub name: String,
    /// `probe`, `control` or `program`.
    pub group: String,
    /// Unit of its values.
    pub unit: String,
    /// Which direction is the good one.
    pub better: Better,
    /// True if the treatment cannot touch it.
    pub control: bool,
    /// What a zero means, where it is no value: such a row is left out.
    pub zero: &'static str,
    /// True if the experiment goes on until this row is precise.
    pub decides: bool,
}

/// One thing watched beside the trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardSpec {
    /// What moved, where its drops are told.
    pub name: &'static str,
    /// Distances from the median up to this are never a reason to drop.
    pub tolerance: f64,
}

/// What one trial brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// One value per row; NaN where there is none.
    pub values: Vec<f64>,
    /// One reading per guard; NaN where there is none.
    pub guards: Vec<f64>,
    /// How the run failed, if it did.
    pub failure: Option<String>,
}

/// What is run, and the clock it runs by.
pub trait Subject {
    /// What ends the experiment at once: the machine cannot be switched, a program cannot be started.
    type Error;

    /// What every trial measures; decisive rows first.
    fn rows(&self) -> Vec<RowSpec>;

    /// What is watched beside the trials.
    fn guards(&self) -> Vec<GuardSpec>;

    /// Makes the state hold, and measures once.
    ///
    /// # Errors
    /// What makes going on useless.
    fn trial(&mut self, state: Arm) -> Result<Trial, Self::Error>;

    /// Seconds since the experiment began.
    fn elapsed_s(&self) -> f64;

    /// True once the user wants it to end.
    fn must_stop(&self) -> bool;
}

/// Trials in the order taken, in whole quads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Taken {
    /// Which side of its pair each trial stands for.
    pub arms: Vec<Arm>,
    /// The trials.
    pub trials: Vec<Trial>,
    /// Trials thrown away because their quad was not finished.
    pub unfinished: usize,
}

impl Taken {
    /// Adds a whole quad.
    pub fn push_quad(&mut self, arms: &[Arm], trials: Vec<Trial>) {
        assert!(arms.len() == TRIALS_PER_QUAD && trials.len() == TRIALS_PER_QUAD, "only whole quads count");
        self.arms.extend_from_slice(arms);
        self.trials.extend(trials);
    }

    /// Whole quads.
    pub fn quads(&self) -> usize {
        self.trials.len() / TRIALS_PER_QUAD
    }

    /// Pairs in whole quads.
    pub fn pairs(&self) -> usize {
        self.quads() * PAIRS_PER_QUAD
    }

    /// Pairs of which a run failed.
    pub fn failed_pairs(&self) -> usize {
        self.trials.chunks(2).filter(|pair| pair.iter().any(|trial| trial.failure.is_some())).count()
    }

    /// Which pairs stay, as the guards see it.
    pub fn guarded(&self, specs: &[GuardSpec]) -> Guarded {
        let readings: Vec<Vec<f64>> =
            (0..specs.len()).map(|index| self.column(|trial| trial.guards.get(index).copied())).collect();
        let guards: Vec<Guard<'_>> = specs
            .iter()
            .zip(&readings)
            .map(|(spec, readings)| Guard { name: spec.name, by_trial: readings, tolerance: spec.tolerance })
            .collect();
        guarded(&guards, self.pairs())
    }

    /// The readings of one guard, or any other number of each trial.
    pub fn column(&self, of: impl Fn(&Trial) -> Option<f64>) -> Vec<f64> {
        self.trials.iter().map(|trial| of(trial).unwrap_or(f64::NAN)).collect()
    }

    /// The values of a row on one side, of the pairs that stay.
    pub fn side(&self, row: usize, arm: Arm, guarded: &Guarded) -> Vec<f64> {
        let kept = |index: usize| guarded.keep.get(index / 2).copied().unwrap_or(true);
        (0..self.trials.len())
            .filter(|index| self.arms[*index] == arm && kept(*index))
            .map(|index| self.value(index, row))
            .filter(|value| value.is_finite())
            .collect()
    }

    fn value(&self, trial: usize, row: usize) -> f64 {
        self.trials[trial].values.get(row).copied().unwrap_or(f64::NAN)
    }

    /// The logarithm of B over A of each pair; NaN where a side is missing or not positive.
    pub fn log_ratios(&self, row: usize) -> Vec<f64> {
        let log = |pair: usize| {
            let (first, second) = (self.value(2 * pair, row), self.value(2 * pair + 1, row));
            let (a, b) = if self.arms[2 * pair] == Arm::A { (first, second) } else { (second, first) };
            if a > 0.0 && b > 0.0 { (b / a).ln() } else { f64::NAN }
        };
        (0..self.pairs()).map(log).collect()
    }

    /// The mean log ratio of each quad of a row, of the pairs that stay; quads without any are left out.
    pub fn quad_logs(&self, row: usize, guarded: &Guarded) -> Vec<f64> {
        self.logs_by_quad(row, guarded).into_iter().filter(|mean| mean.is_finite()).collect()
    }

    /// The same, quad by quad: NaN for one without any.
    pub fn logs_by_quad(&self, row: usize, guarded: &Guarded) -> Vec<f64> {
        quad_means(&guarded.masked(&self.log_ratios(row)))
    }
}
