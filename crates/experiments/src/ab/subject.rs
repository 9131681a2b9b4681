//! What an experiment is made around, seen from its log: rows, guards, one trial at a time.

use record::Better;
use serde::{Deserialize, Serialize};
use stats::{Cell, Factors, Guard, Guarded, cell_count, guarded_passes, lopsided_p, quad_means};

/// A block is a pass through all cells and its mirror image: of one toggle ABBA or BAAB, two pairs.
pub const PASSES_PER_BLOCK: usize = 2;

/// A guard that falls on some states more often than others, with a chance below this, drops nothing. To keep passes is always right, and
/// costs only that they spread more, so that little evidence is enough. Assumed.
const LOPSIDED_P: f64 = 0.2;

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

/// A row as a journal keeps it: what of it the judgement needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptRow {
    /// What it is called.
    pub name: String,
    /// `probe`, `control` or `program`.
    pub group: String,
    /// Unit of its values.
    pub unit: String,
    /// Which direction is the good one.
    pub better: Better,
    /// True if what is compared should not touch it.
    pub control: bool,
}

impl From<&RowSpec> for KeptRow {
    fn from(spec: &RowSpec) -> Self {
        let RowSpec { name, group, unit, better, .. } = spec.clone();
        Self { name, group, unit, better, control: spec.is_control() }
    }
}

/// The headline row of an effect, whose width decides when to stop: the first that all of its toggles move, or else the first
/// that one of them moves.
pub fn headline_row(rows: &[RowSpec], effect: Factors) -> Option<usize> {
    let moved_by_one =
        |row: &RowSpec| effect.members().any(|toggle| row.moved_by.holds(Factors::only(toggle)));
    rows.iter().position(|row| row.moved_by.holds(effect)).or_else(|| rows.iter().position(moved_by_one))
}

/// One thing watched beside the trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardSpec {
    /// What moved, where its drops are reported.
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
pub struct TrialSet {
    /// How many toggles are flipped, or 1 for two programs.
    pub factors: usize,
    /// The state that each trial stands for.
    pub cells: Vec<Cell>,
    /// The trials.
    pub trials: Vec<Trial>,
    /// Trials thrown away because their block was not finished.
    pub unfinished: usize,
}

impl TrialSet {
    /// Nothing yet, of an experiment with so many toggles.
    pub fn of(factors: usize) -> Self {
        Self { factors, cells: Vec::new(), trials: Vec::new(), unfinished: 0 }
    }

    /// Adds a whole block.
    pub fn push_block(&mut self, cells: &[Cell], trials: Vec<Trial>) {
        let required = PASSES_PER_BLOCK * cell_count(self.factors);
        assert!(cells.len() == required && trials.len() == required, "only whole blocks count");
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

    /// Which passes stay, as the guards see it. One that moves with the states themselves, as steal does if one of them keeps more CPUs
    /// busy, would leave out what is bad in one state more than in another: it drops nothing.
    pub fn guarded(&self, specs: &[GuardSpec]) -> Guarded {
        let readings: Vec<Vec<f64>> =
            (0..specs.len()).map(|index| self.column(|trial| trial.guards.get(index).copied())).collect();
        let guards: Vec<Guard<'_>> = specs
            .iter()
            .zip(&readings)
            .map(|(spec, readings)| Guard { name: spec.name, by_trial: readings, tolerance: spec.tolerance })
            .collect();
        let lopsided: Vec<Option<Vec<usize>>> = guards.iter().map(|guard| self.lopsided(guard)).collect();
        let even = guards.iter().zip(&lopsided).map(|(guard, lopsided)| match lopsided {
            Some(_) => Guard { by_trial: &[], ..*guard },
            None => *guard,
        });
        let even: Vec<Guard<'_>> = even.collect();
        Guarded { lopsided, ..guarded_passes(&even, self.passes(), cell_count(self.factors)) }
    }

    /// The trials of each state in which a guard moved, if that is more uneven than chance.
    fn lopsided(&self, guard: &Guard<'_>) -> Option<Vec<usize>> {
        let cells = cell_count(self.factors);
        let moved = guard.moved();
        let trials: Vec<(Cell, bool)> = self.cells.iter().copied().zip(moved).collect();
        let of_block = |block: &[(Cell, bool)]| {
            let mut counts = vec![0; cells];
            for (cell, moved) in block {
                counts[cell.index()] += usize::from(*moved);
            }
            counts
        };
        let by_block: Vec<Vec<usize>> = trials.chunks(PASSES_PER_BLOCK * cells).map(of_block).collect();
        // The seed is of no consequence: it decides on shuffles of what was seen.
        let is_lopsided = lopsided_p(&by_block, trials.len() as u64) <= LOPSIDED_P;
        let total = |state: usize| by_block.iter().map(|counts| counts[state]).sum();
        is_lopsided.then(|| (0..cells).map(total).collect())
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
    pub fn aa_logs(&self, row: usize, effect: Factors, guarded: &Guarded) -> Vec<f64> {
        let contrasts = guarded.masked(&self.contrasts(row, effect));
        let (blocks, _) = contrasts.as_chunks::<PASSES_PER_BLOCK>();
        blocks.iter().map(|[first, mirrored]| (mirrored - first) / 2.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use stats::{Comparison, Random, mirrored_block};

    use super::*;

    const BLOCKS: usize = 20;
    const NOISE: f64 = 0.05;
    const GUARDS: [GuardSpec; 1] = [GuardSpec { name: "steal", tolerance: 0.5 }];
    /// The second of four states, which does what the others do.
    const WATCHED: usize = 1;

    /// Four states that are one, and a guard that `moves` by state and noise.
    fn nothing_changed(seed: u64, moves: impl Fn(usize, f64, &mut Random) -> bool) -> TrialSet {
        let mut random = Random::new(seed);
        let mut taken = TrialSet::of(2);
        for _ in 0..BLOCKS {
            let cells = mirrored_block(2, &mut random);
            let mut trial = |cell: &Cell| {
                let noise = random.normal();
                let moved = moves(cell.index(), noise, &mut random);
                let guards = vec![if moved { 3.0 } else { 0.0 }];
                Trial { values: vec![(NOISE * noise).exp()], guards, failure: None }
            };
            let trials = cells.iter().map(&mut trial).collect();
            taken.push_block(&cells, trials);
        }
        taken
    }

    /// Over many experiments: the mean change of the watched state, in standard deviations of a run, and the share of alarms at 5 %.
    fn seen(of: impl Fn(&TrialSet) -> Guarded, moves: fn(usize, f64, &mut Random) -> bool) -> [f64; 2] {
        const EXPERIMENTS: u64 = 300;
        let watched = Cell::all(2).nth(WATCHED).expect("there are four");
        let (mut sum, mut alarms) = (0.0, 0.0);
        for seed in 0..EXPERIMENTS {
            let taken = nothing_changed(seed, moves);
            let logs = taken.baseline_logs(0, watched, &of(&taken));
            let found = Comparison::of_log_ratios(&logs).expect("some passes stay");
            sum += found.ratio.ln() / NOISE;
            alarms += f64::from(u8::from(found.p <= 0.05));
        }
        [sum, alarms].map(|total| total / EXPERIMENTS as f64)
    }

    #[test]
    fn a_guard_that_sees_what_is_slow_in_one_state_only_does_not_make_that_state_fast() {
        // One state draws what disturbs it, and is slow then: a sixth of its runs.
        let moves = |state: usize, noise: f64, _: &mut Random| state == WATCHED && noise > 1.0;
        let dropped = |taken: &TrialSet| {
            let readings = taken.column(|trial| trial.guards.first().copied());
            let guard = Guard { name: "steal", by_trial: &readings, tolerance: 0.5 };
            guarded_passes(&[guard], taken.passes(), 4)
        };
        let [bias, alarms] = seen(dropped, moves);
        assert!(bias < -0.2 && alarms > 0.1, "dropping hides it: {bias} {alarms}");
        let [bias, alarms] = seen(|taken| taken.guarded(&GUARDS), moves);
        assert!(bias.abs() < 0.05 && alarms < 0.09, "{bias} {alarms}");
        let guarded = nothing_changed(1, moves).guarded(&GUARDS);
        let trials = guarded.lopsided[0].as_ref().expect("it is lopsided");
        assert!(
            guarded.dropped() == 0 && trials[WATCHED] > 2 && trials.iter().sum::<usize>() == trials[WATCHED]
        );
    }

    #[test]
    fn a_guard_that_sees_the_machine_move_drops_passes_without_a_bias() {
        let moves = |_: usize, noise: f64, random: &mut Random| noise > 1.0 && random.unit() < 0.2;
        let drops = |seed: u64| nothing_changed(seed, moves).guarded(&GUARDS).dropped() > 0;
        let dropping = (0..100).filter(|seed| drops(*seed)).count();
        assert!(dropping >= 65, "{dropping} of 100");
        let [bias, alarms] = seen(|taken| taken.guarded(&GUARDS), moves);
        assert!(bias.abs() < 0.05 && alarms < 0.09, "{bias} {alarms}");
    }
}
