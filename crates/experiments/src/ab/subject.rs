//! What an experiment is made around, seen from its course: rows, guards, one trial at a time.

use record::Better;
use stats::{Cell, Factors, Guard, Guarded, cell_count, guarded_passes, quad_means};

/// A block is a pass through all cells and its mirror image: of one toggle a quad, made of two pairs.
pub const PASSES_PER_BLOCK: usize = 2;

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
    /// The toggles that can move it; none of them can touch a control.
    pub moved_by: Factors,
    /// What a zero means, where it is no value: such a row is left out.
    pub zero: &'static str,
}

impl RowSpec {
    /// True if no toggle can touch it.
    pub fn is_control(&self) -> bool {
        self.moved_by.is_empty()
    }
}

/// The row on which an effect is told, and whose width decides when to stop: the first that all of its toggles move, or
/// else the first that one of them moves.
pub fn told_row(rows: &[RowSpec], effect: Factors) -> Option<usize> {
    let moved_by_one =
        |row: &RowSpec| effect.members().any(|toggle| row.moved_by.holds(Factors::only(toggle)));
    rows.iter().position(|row| row.moved_by.holds(effect)).or_else(|| rows.iter().position(moved_by_one))
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

    /// What every trial measures; what matters most first, controls last.
    fn rows(&self) -> Vec<RowSpec>;

    /// What is watched beside the trials.
    fn guards(&self) -> Vec<GuardSpec>;

    /// Called before each block, with the seconds that are left: what may change from block to block, but not within one.
    ///
    /// # Errors
    /// What makes going on useless.
    fn before_block(&mut self, _left_s: f64) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes the state hold, and measures once.
    ///
    /// # Errors
    /// What makes going on useless.
    fn trial(&mut self, state: Cell) -> Result<Trial, Self::Error>;

    /// Seconds since the experiment began.
    fn elapsed_s(&self) -> f64;

    /// True once the user wants it to end.
    fn must_stop(&self) -> bool;
}

/// Trials in the order taken, in whole blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// How many toggles are flipped, or 1 for two programs.
    pub factors: usize,
    /// The state that each trial stands for.
    pub cells: Vec<Cell>,
    /// The trials.
    pub trials: Vec<Trial>,
    /// Trials thrown away because their block was not finished.
    pub unfinished: usize,
}

impl Taken {
    /// Nothing yet, of an experiment with so many toggles.
    pub fn of(factors: usize) -> Self {
        Self { factors, cells: Vec::new(), trials: Vec::new(), unfinished: 0 }
    }

    /// Adds a whole block.
    pub fn push_block(&mut self, cells: &[Cell], trials: Vec<Trial>) {
        let wanted = PASSES_PER_BLOCK * cell_count(self.factors);
        assert!(cells.len() == wanted && trials.len() == wanted, "only whole blocks count");
        self.cells.extend_from_slice(cells);
        self.trials.extend(trials);
    }

    /// Whole blocks.
    pub fn blocks(&self) -> usize {
        self.passes() / PASSES_PER_BLOCK
    }

    /// Passes in whole blocks: of one toggle pairs.
    pub fn passes(&self) -> usize {
        self.trials.len() / cell_count(self.factors)
    }

    /// Passes of which a run failed.
    pub fn failed_passes(&self) -> usize {
        let fails = |pass: &&[Trial]| pass.iter().any(|trial| trial.failure.is_some());
        self.trials.chunks(cell_count(self.factors)).filter(fails).count()
    }

    /// Which passes stay, as the guards see it.
    pub fn guarded(&self, specs: &[GuardSpec]) -> Guarded {
        let readings: Vec<Vec<f64>> =
            (0..specs.len()).map(|index| self.column(|trial| trial.guards.get(index).copied())).collect();
        let guards: Vec<Guard<'_>> = specs
            .iter()
            .zip(&readings)
            .map(|(spec, readings)| Guard { name: spec.name, by_trial: readings, tolerance: spec.tolerance })
            .collect();
        guarded_passes(&guards, self.passes(), cell_count(self.factors))
    }

    /// The readings of one guard, or any other number of each trial.
    pub fn column(&self, of: impl Fn(&Trial) -> Option<f64>) -> Vec<f64> {
        self.trials.iter().map(|trial| of(trial).unwrap_or(f64::NAN)).collect()
    }

    /// The values of a row in one state, of the passes that stay.
    pub fn values_in(&self, cell: Cell, row: usize, guarded: &Guarded) -> Vec<f64> {
        let kept = |index: usize| guarded.keep.get(index / cell_count(self.factors)).copied().unwrap_or(true);
        (0..self.trials.len())
            .filter(|index| self.cells[*index] == cell && kept(*index))
            .map(|index| self.value(index, row))
            .filter(|value| value.is_finite())
            .collect()
    }

    fn value(&self, trial: usize, row: usize) -> f64 {
        self.trials[trial].values.get(row).copied().unwrap_or(f64::NAN)
    }

    /// An effect in each pass, on the log scale: of one toggle the logarithm of B over A of each pair. NaN where a value
    /// is missing or not positive.
    pub fn contrasts(&self, row: usize, effect: Factors) -> Vec<f64> {
        self.by_pass(row, |logs| effect.contrast(logs))
    }

    /// What `of` makes of the logarithms of each pass, one per cell.
    fn by_pass(&self, row: usize, of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let cells = cell_count(self.factors);
        let in_pass = |pass: usize| {
            let mut logs = vec![f64::NAN; cells];
            for trial in pass * cells..(pass + 1) * cells {
                let value = self.value(trial, row);
                logs[self.cells[trial].index()] = if value > 0.0 { value.ln() } else { f64::NAN };
            }
            of(&logs)
        };
        (0..self.passes()).map(in_pass).collect()
    }

    /// The mean of an effect in each block, of the passes that stay; blocks without any are left out.
    pub fn block_logs(&self, row: usize, effect: Factors, guarded: &Guarded) -> Vec<f64> {
        self.logs_by_block(row, effect, guarded).into_iter().filter(|mean| mean.is_finite()).collect()
    }

    /// The same, block by block: NaN for one without any.
    pub fn logs_by_block(&self, row: usize, effect: Factors, guarded: &Guarded) -> Vec<f64> {
        quad_means(&guarded.masked(&self.contrasts(row, effect)))
    }

    /// The logarithm of one state over the baseline in each block, of the passes that stay.
    pub fn baseline_logs(&self, row: usize, cell: Cell, guarded: &Guarded) -> Vec<f64> {
        let logs = self.by_pass(row, |logs| logs[cell.index()] - logs[Cell::BASELINE.index()]);
        quad_means(&guarded.masked(&logs)).into_iter().filter(|mean| mean.is_finite()).collect()
    }

    /// What must be nothing: half of what the effect in the mirrored pass of each block differs from that in the first
    /// pass, in which the very same states were taken. It spreads as the mean of both does. Block by block, NaN where a
    /// pass is missing.
    pub fn twin_logs(&self, row: usize, effect: Factors, guarded: &Guarded) -> Vec<f64> {
        let contrasts = guarded.masked(&self.contrasts(row, effect));
        let (blocks, _) = contrasts.as_chunks::<PASSES_PER_BLOCK>();
        blocks.iter().map(|[first, mirrored]| (mirrored - first) / 2.0).collect()
    }
}
