//! What runs next, and when it ends: the A/A control, then blocks, until the interval is narrow or the budget is spent.
//!
//! A block is a shuffle of all states and its mirror image; with one toggle it is two pairs. Pure: the clock is
//! the subject's, so that a simulated one serves as well. Whatever ends an experiment, only whole blocks are kept: half a
//! block is not balanced. Past the budget at most the trial is finished that runs.

use record::Ended;
use stats::{
    AaControl, Cell, FEWEST_PAIRS, Factors, Random, Shift, Step, Stopping, cell_count, hodges_lehmann,
    mirrored_block,
};

use super::subject::{PASSES_PER_BLOCK, Subject, Trial, TrialSet, headline_row};

/// Share of the budget for the A/A control. Source: METHODOLOGY.md, "Experiments".
const AA_SHARE: f64 = 0.2;
/// It may take this share where it would not reach the fewest blocks that can show more than chance.
const AA_SHARE_MAX: f64 = 1.0 / 3.0;
/// With so many runs failed in one state, and none that worked, going on is useless.
const FAILURES_IN_VAIN: usize = 3;
/// Intervals are looked at each time the blocks have grown by this share: each look takes time.
const LOOK_GROWTH: f64 = 1.05;
/// Confidence of the intervals that are shown.
const CONFIDENCE: f64 = 0.95;
/// An experiment goes on until main effects and interactions of so many toggles are precise: those of more spread twice
/// as wide with each toggle.
pub const ORDER_AWAITED: usize = 2;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Half-width of the 95 % interval that is narrow enough, on the log scale: 0.01 for 1 %.
    pub precision: f64,
    /// Seconds at most since the subject's clock began; getting ready and the A/A control are included.
    pub budget_s: f64,
    /// Exactly so many pairs, or runs of each combination, rounded up to whole blocks, unless the budget is spent before.
    pub pairs: Option<usize>,
    /// Of all random choices.
    pub seed: u64,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// True while the A/A control runs.
    pub is_aa: bool,
    /// Whole blocks done.
    pub blocks: usize,
    /// The main effect of each toggle so far on the first row that it moves, with its interval, as a log ratio; `None`
    /// without a pair.
    pub shifts: Vec<Option<Shift>>,
    /// Share of its time that the experiment has used, 0 to 1.
    pub share: f64,
    /// Seconds that are left at most.
    pub left_s: f64,
}

/// What shows the progress.
pub trait Progress {
    /// Called once, when the first runs have shown what a run takes: the seconds at which the experiment ends at the latest, or
    /// `None` to leave it.
    fn afforded_s(&mut self, time_estimate: &TimeEstimate) -> Option<f64> {
        Some(time_estimate.budget_s)
    }

    /// Called between blocks, never during a trial.
    fn standing(&mut self, standing: &Standing);
}

/// All that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialLog {
    /// What was run first, once or until it worked, and counts for nothing but its failures.
    pub warmup: Vec<(Cell, Trial)>,
    /// Trials with nothing switched; none in an experiment of several states, whose A/A control is inside.
    pub aa_trials: TrialSet,
    /// What the A/A control showed.
    pub aa_control: AaControl,
    /// Trials proper.
    pub trials: TrialSet,
    /// Why it ended.
    pub ended: Ended,
}

/// Runs an experiment with one toggle, or two programs, to its end: first its A/A control with nothing switched.
///
/// # Errors
/// What the subject says makes going on useless.
pub fn run<S: Subject>(
    subject: &mut S,
    rules: &Rules,
    progress: &mut dyn Progress,
) -> Result<TrialLog, S::Error> {
    run_trials(subject, 1, AA_SHARE_MAX, rules, progress)
}

/// Runs an experiment with several factors to its end. Its A/A control is inside: see [`TrialSet::aa_logs`].
///
/// # Errors
/// What the subject says makes going on useless.
pub fn run_factorial<S: Subject>(
    subject: &mut S,
    factors: usize,
    rules: &Rules,
    progress: &mut dyn Progress,
) -> Result<TrialLog, S::Error> {
    run_trials(subject, factors, 0.0, rules, progress)
}

/// Runs an experiment with an A/A control that takes at most this share of the time before it, or with one inside where that is nothing.
fn run_trials<S: Subject>(
    subject: &mut S,
    factors: usize,
    aa_share: f64,
    rules: &Rules,
    progress: &mut dyn Progress,
) -> Result<TrialLog, S::Error> {
    let mut random = Random::new(rules.seed);
    let started_s = subject.elapsed_s();
    let mut trial_log = TrialLog {
        warmup: Vec::new(),
        aa_trials: TrialSet::of(factors),
        aa_control: AaControl::of(&[], rules.seed),
        trials: TrialSet::of(factors),
        ended: Ended::BudgetSpent,
    };
    if let Some(ended) = warm_up(subject, factors, rules.budget_s, &mut trial_log.warmup)? {
        return Ok(TrialLog { ended, ..trial_log });
    }
    let time_estimate =
        rules.time_estimate(factors, aa_share, started_s, subject.elapsed_s(), trial_log.warmup.len());
    let Some(budget_end_s) = progress.afforded_s(&time_estimate) else { return Ok(trial_log) };
    let mut phase = Phase {
        aa_control: Widening::Inside,
        started_s: subject.elapsed_s(),
        budget_end_s,
        soft_end_s: budget_end_s,
        end_s: budget_end_s,
        blocks: rules.blocks(),
        precision: rules.precision,
        seed: rules.seed,
        taken: TrialSet::of(factors),
    };
    if aa_share > 0.0 {
        // What getting ready took is spent.
        let left_s = (budget_end_s - started_s).max(0.0);
        let blocks = |blocks: usize| blocks.div_ceil(PASSES_PER_BLOCK * 2).max(AaControl::FEWEST_ROUNDS);
        let mut aa_phase = Phase {
            aa_control: Widening::IsAa,
            started_s,
            soft_end_s: started_s + left_s * AA_SHARE,
            end_s: started_s + left_s * aa_share,
            blocks: rules.blocks().map(blocks),
            taken: TrialSet::of(factors),
            ..phase
        };
        let ended = aa_phase.run(subject, &mut random, progress)?;
        trial_log.aa_trials = aa_phase.taken;
        let guarded = trial_log.aa_trials.guarded(&subject.guards());
        let logs = |row, effect| trial_log.aa_trials.logs_by_block(row, effect, &guarded);
        trial_log.aa_control = aa_control_of(subject, factors, rules.seed, logs);
        if matches!(ended, Ended::Failing | Ended::Interrupted) {
            return Ok(TrialLog { ended, ..trial_log });
        }
        (phase.aa_control, phase.started_s) =
            (Widening::Before(trial_log.aa_control.widening), subject.elapsed_s());
    }
    trial_log.ended = phase.run(subject, &mut random, progress)?;
    if matches!(phase.aa_control, Widening::Inside) {
        trial_log.aa_control = phase.aa_inside(subject);
    }
    trial_log.trials = phase.taken;
    Ok(trial_log)
}

impl Rules {
    fn blocks(&self) -> Option<usize> {
        self.pairs.map(|pairs| pairs.div_ceil(PASSES_PER_BLOCK))
    }

    /// The bill after so many first runs between two times.
    fn time_estimate(
        &self,
        factors: usize,
        aa_share: f64,
        started_s: f64,
        now_s: f64,
        runs: usize,
    ) -> TimeEstimate {
        TimeEstimate::of(factors, (now_s - started_s) / runs.max(1) as f64, aa_share, now_s, self.budget_s)
    }
}

/// Runs each state until it works once, as long as there is time: caches are warm then, and what never works is known before time
/// is spent. The end, if there is one already.
fn warm_up<S: Subject>(
    subject: &mut S,
    factors: usize,
    end_s: f64,
    done: &mut Vec<(Cell, Trial)>,
) -> Result<Option<Ended>, S::Error> {
    let mut ended = None;
    for cell in Cell::all(factors) {
        let mut works = false;
        for _ in 0..FAILURES_IN_VAIN {
            if subject.elapsed_s() >= end_s {
                return Ok(Some(Ended::BudgetSpent));
            }
            let trial = subject.trial(cell)?;
            if subject.must_stop() {
                return Ok(Some(Ended::Interrupted));
            }
            works = trial.failure.is_none();
            done.push((cell, trial));
            if works {
                break;
            }
        }
        if !works {
            ended = Some(Ended::Failing);
        }
    }
    Ok(ended)
}

/// The A/A control from all effects of all rows, controls included.
fn aa_control_of<S: Subject>(
    subject: &S,
    factors: usize,
    seed: u64,
    logs: impl Fn(usize, Factors) -> Vec<f64>,
) -> AaControl {
    let effects = Factors::effects(factors);
    let all = (0..subject.rows().len()).flat_map(|row| effects.iter().map(move |effect| (row, *effect)));
    AaControl::of(&all.map(|(row, effect)| logs(row, effect)).collect::<Vec<_>>(), seed)
}

/// A run that did not fail, and has rows without a value.
fn is_cut_short(trial: &Trial) -> bool {
    trial.failure.is_none() && trial.values.iter().any(|value| value.is_nan())
}

/// Where the A/A control is that says how much too narrow the intervals are.
enum Widening {
    /// This phase is the A/A control: nothing is switched.
    IsAa,
    /// It ran before, and found this factor.
    Before(f64),
    /// In the same blocks.
    Inside,
}

/// The A/A control, or the experiment proper.
struct Phase {
    aa_control: Widening,
    started_s: f64,
    /// The end of all phases.
    budget_end_s: f64,
    /// The end, unless there are too few blocks to say anything.
    soft_end_s: f64,
    /// The end in any case.
    end_s: f64,
    blocks: Option<usize>,
    precision: f64,
    seed: u64,
    taken: TrialSet,
}

impl Phase {
    fn run<S: Subject>(
        &mut self,
        subject: &mut S,
        random: &mut Random,
        progress: &mut dyn Progress,
    ) -> Result<Ended, S::Error> {
        let mut next_look = self.fewest_blocks();
        loop {
            if subject.must_stop() {
                return Ok(Ended::Interrupted);
            }
            if self.blocks.is_some_and(|blocks| self.taken.blocks() >= blocks) {
                return Ok(Ended::PairsTaken);
            }
            if self.is_time_up(subject.elapsed_s()) {
                return Ok(Ended::BudgetSpent);
            }
            if let Some(ended) = self.take_block(subject, random)? {
                return Ok(ended);
            }
            if self.taken.blocks() < next_look {
                progress.standing(&self.standing(subject, Vec::new()));
                continue;
            }
            next_look = (self.taken.blocks() as f64 * LOOK_GROWTH).ceil() as usize;
            next_look = next_look.max(self.taken.blocks() + 1);
            let shifts = self.shifts(subject);
            let is_precise = self.blocks.is_none() && self.is_precise(subject, &shifts);
            let main_effects = shifts.into_iter().take(self.taken.factors).collect();
            progress.standing(&self.standing(subject, main_effects));
            if is_precise {
                return Ok(Ended::Precise);
            }
        }
    }

    /// Fewer say nothing: no interval, and no more than chance of an A/A control.
    fn fewest_blocks(&self) -> usize {
        if self.is_aa() { AaControl::FEWEST_ROUNDS } else { FEWEST_PAIRS }
    }

    /// Whether another block, as long as those before, would go beyond the end.
    fn is_time_up(&self, now_s: f64) -> bool {
        let done = self.taken.blocks();
        if done == 0 {
            return now_s >= self.end_s;
        }
        let after_s = now_s + (now_s - self.started_s) / done as f64;
        after_s > if done < self.fewest_blocks() { self.end_s } else { self.soft_end_s }
    }

    /// Takes the trials of a block; `Some` if it could not be finished, and then it does not count.
    fn take_block<S: Subject>(
        &mut self,
        subject: &mut S,
        random: &mut Random,
    ) -> Result<Option<Ended>, S::Error> {
        subject.before_block(self.soft_end_s - subject.elapsed_s())?;
        let cells = mirrored_block(self.taken.factors, random);
        let mut trials: Vec<Trial> = Vec::with_capacity(cells.len());
        for cell in &cells {
            // The machine may have become slower than it was in the blocks before.
            let mut ended = self.ended(subject, true);
            if ended.is_none() {
                trials.push(subject.trial(if self.is_aa() { Cell::BASELINE } else { *cell })?);
                // A trial during which the user wanted the end, or the budget came to its own, was cut short.
                ended = self.ended(subject, trials.last().is_some_and(is_cut_short));
            }
            if ended.is_some() {
                self.taken.unfinished += trials.len();
                return Ok(ended);
            }
        }
        self.taken.push_block(&cells, trials);
        Ok(self.fails_in_vain().then_some(Ended::Failing))
    }

    /// The end of a block that is not finished: a signal, or where that matters the end of the budget.
    fn ended<S: Subject>(&self, subject: &S, by_budget: bool) -> Option<Ended> {
        if subject.must_stop() {
            Some(Ended::Interrupted)
        } else {
            (by_budget && subject.elapsed_s() >= self.budget_end_s).then_some(Ended::BudgetSpent)
        }
    }

    fn is_aa(&self) -> bool {
        matches!(self.aa_control, Widening::IsAa)
    }

    /// True if one state has failed several times and never worked.
    fn fails_in_vain(&self) -> bool {
        Cell::all(self.taken.factors).any(|cell| {
            let of_cell =
                || self.taken.trials.iter().zip(&self.taken.cells).filter(move |(_, have)| **have == cell);
            of_cell().count() >= FAILURES_IN_VAIN && of_cell().all(|(trial, _)| trial.failure.is_some())
        })
    }

    /// Each effect that is awaited, on its headline row; main effects first.
    fn shifts<S: Subject>(&self, subject: &S) -> Vec<Option<Shift>> {
        let guarded = self.taken.guarded(&subject.guards());
        let rows = subject.rows();
        let effects = Factors::effects(self.taken.factors);
        let awaited = effects.into_iter().filter(|effect| effect.order() <= ORDER_AWAITED);
        let shift = |effect| {
            let row = headline_row(&rows, effect)?;
            hodges_lehmann(&self.taken.block_logs(row, effect, &guarded), CONFIDENCE)
        };
        awaited.map(shift).collect()
    }

    fn is_precise<S: Subject>(&self, subject: &S, shifts: &[Option<Shift>]) -> bool {
        let rule = Stopping { precision: self.precision, budget_pairs: usize::MAX };
        let are_precise = |widening: f64| {
            shifts.iter().all(|shift| {
                let blocks = shift.map_or(0, |shift| shift.pairs);
                let half_width =
                    shift.and_then(|shift| shift.interval).map(|found| found.half_width() * widening);
                rule.after_width(blocks, half_width) == Step::Precise
            })
        };
        match self.aa_control {
            Widening::IsAa => are_precise(1.0),
            Widening::Before(widening) => are_precise(widening),
            // To ask the A/A control inside takes longer than to ask the widths.
            Widening::Inside => are_precise(1.0) && are_precise(self.aa_inside(subject).widening),
        }
    }

    fn aa_inside<S: Subject>(&self, subject: &S) -> AaControl {
        let guarded = self.taken.guarded(&subject.guards());
        aa_control_of(subject, self.taken.factors, self.seed, |row, effect| {
            self.taken.aa_logs(row, effect, &guarded)
        })
    }

    fn standing<S: Subject>(&self, subject: &S, shifts: Vec<Option<Shift>>) -> Standing {
        let (now_s, length_s) = (subject.elapsed_s(), self.soft_end_s - self.started_s);
        let by_blocks = self.blocks.map(|blocks| self.taken.blocks() as f64 / blocks.max(1) as f64);
        let by_time = (now_s - self.started_s) / length_s.max(f64::MIN_POSITIVE);
        let share = by_blocks.unwrap_or(0.0).max(by_time).clamp(0.0, 1.0);
        let left_s = match by_blocks {
            // After the A/A control comes more, of which nothing is known but the budget.
            Some(done) if done > 0.0 && !self.is_aa() => (now_s - self.started_s) * (1.0 / done - 1.0),
            _ => f64::INFINITY,
        };
        let left_s = left_s.min(self.budget_end_s - now_s).max(0.0);
        Standing { is_aa: self.is_aa(), blocks: self.taken.blocks(), shifts, share, left_s }
    }
}

/// A budget that is asked for is larger than the least by this: later runs may take longer than the first.
const HEADROOM: f64 = 1.1;

/// Fewer pairs than this have no interval: each block holds two.
pub const PAIRS_MIN: usize = FEWEST_PAIRS * PASSES_PER_BLOCK;

/// What an experiment is about to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeEstimate {
    /// Seconds that a run takes, with all that is done around it: the mean of what each state took first.
    pub run_s: f64,
    /// Runs of the experiment proper without which there is no interval.
    pub runs_min: usize,
    /// Share of the time that is left which the same runs with nothing switched may take before.
    pub aa_share: f64,
    /// Seconds that are spent already.
    pub spent_s: f64,
    /// Seconds that there are for all of it.
    pub budget_s: f64,
}

impl TimeEstimate {
    /// Of an experiment with so many toggles, after its first runs.
    pub(super) fn of(factors: usize, run_s: f64, aa_share: f64, spent_s: f64, budget_s: f64) -> Self {
        let runs_min = FEWEST_PAIRS * PASSES_PER_BLOCK * cell_count(factors);
        Self { run_s, runs_min, aa_share, spent_s, budget_s }
    }

    /// Seconds for the fewest runs that have an interval, all that comes before included.
    pub fn least_s(&self) -> f64 {
        self.spent_s + self.run_s * self.runs_min as f64 / (1.0 - self.aa_share)
    }

    /// Whether the budget can bring an interval.
    pub fn is_affordable(&self) -> bool {
        self.least_s() <= self.budget_s
    }

    /// Whole seconds of a budget that can.
    pub fn budget_needed_s(&self) -> f64 {
        (self.least_s() * HEADROOM).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_counts_the_runs_with_nothing_switched_and_what_is_spent() {
        let time_estimate = TimeEstimate::of(1, 1.3, 1.0 / 3.0, 2.6, 20.0);
        assert_eq!(time_estimate.runs_min, 24);
        assert!((time_estimate.least_s() - (2.6 + 36.0 * 1.3)).abs() < 1e-9, "{}", time_estimate.least_s());
        assert!(!time_estimate.is_affordable());
        let asked = TimeEstimate { budget_s: time_estimate.budget_needed_s(), ..time_estimate };
        assert!(asked.is_affordable() && (asked.budget_s - 55.0).abs() < 1e-9, "{}", asked.budget_s);
        assert_eq!(TimeEstimate::of(2, 1.0, 0.0, 0.0, 0.0).runs_min, 48);
    }
}
