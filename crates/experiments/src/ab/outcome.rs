//! From the trials of an experiment to judged rows and one sentence.

use record::{
    AaControl, AaRow, DocumentHead, DroppedPairs, EXPERIMENT_SCHEMA, ExperimentOutcome, ExperimentRow,
    ExperimentSubject, Failures, LopsidedGuard, PairCounts, RawTrial, SeenDrift,
};
use stats::{Arm, Cell, Comparison, Factors, Guarded, Interval, Verdict};

use super::judged_rows::{Sides, as_cost, draft, judge, percent, too_many_zeros};
pub use super::sentence::TWO_PROGRAMS;
use super::sentence::{headline, sentence};
use super::subject::{GuardSpec, PASSES_PER_BLOCK, RowSpec, Trial, TrialSet};
use super::trial_log::TrialLog;

/// Words for the document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels {
    /// What it is about.
    pub about: ExperimentSubject,
    /// What the sentence calls that: `this program`; empty for probes, which go by their own names.
    pub called: String,
    /// As far as it is known before.
    pub head: DocumentHead,
}

/// What was declared before the first trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    /// Differences inside this are of no practical matter: 0.01 for 1 %.
    pub margin: f64,
    /// Half-width of the interval that ends the experiment.
    pub precision: f64,
    /// Of all random choices.
    pub seed: u64,
}

/// What an experiment with one toggle, or two programs, amounts to.
pub fn outcome(
    trial_log: &TrialLog,
    rows: &[RowSpec],
    guards: &[GuardSpec],
    labels: &Labels,
    declared: &Declared,
) -> ExperimentOutcome {
    let guarded = trial_log.trials.guarded(guards);
    let mut notes = labels.head.notes.clone();
    let measured = measured(trial_log, rows, &guarded, &mut notes);
    let [rows_judged, controls] = [false, true].map(|of_controls| {
        let family = measured.iter().filter(|(_, spec)| spec.is_control() == of_controls);
        judged(family.copied(), trial_log, &guarded, declared.margin, &labels.about.b)
    });
    let aa_guarded = trial_log.aa_trials.guarded(guards);
    let aa_rows = rows.iter().enumerate().filter_map(|(index, spec)| {
        let logs = trial_log.aa_trials.block_logs(index, Factors::ONE, &aa_guarded);
        aa_row(&spec.name, "", &logs)
    });
    let mut found = ExperimentOutcome {
        head: DocumentHead {
            schema: EXPERIMENT_SCHEMA,
            margin_percent: 100.0 * declared.margin,
            seed: declared.seed,
            elapsed_s: Some(0.0),
            notes,
            ..labels.head.clone()
        },
        about: labels.about.clone(),
        pairs: rows_judged.first().map_or(0, |row| row.row.samples[0]),
        rows: rows_judged,
        controls,
        aa: aa_control(&trial_log.aa_control, aa_rows.collect(), trial_log.aa_trials.blocks()),
        pair_counts: counts(&trial_log.trials, &guarded, guards),
        failures: failures(trial_log),
        drift: drift(trial_log),
        ended: trial_log.ended,
        precision_percent: 100.0 * declared.precision,
        raw: raw(trial_log),
    };
    found.head.sentence = sentence(&found, &labels.called);
    found
}

/// True if the row that the sentence tells has a verdict.
pub fn has_verdict(found: &ExperimentOutcome) -> bool {
    headline(found).is_some_and(|row| row.row.verdict != Verdict::Inconclusive)
}

/// The rows that have a ratio, by index; of those that are mostly zero a note says why they have none.
fn measured<'r>(
    trial_log: &TrialLog,
    rows: &'r [RowSpec],
    guarded: &Guarded,
    notes: &mut Vec<String>,
) -> Vec<(usize, &'r RowSpec)> {
    let mut measured = Vec::new();
    for (index, spec) in rows.iter().enumerate() {
        let all = in_both_states(&trial_log.trials, index, guarded).concat();
        if too_many_zeros(&all) {
            notes.push(format!("{}: left out, {}", spec.name, spec.zero));
        } else if !all.is_empty() {
            measured.push((index, spec));
        }
    }
    measured
}

/// The change of every row of a family, widened by what the A/A control showed.
fn judged<'r>(
    family: impl Iterator<Item = (usize, &'r RowSpec)>,
    trial_log: &TrialLog,
    guarded: &Guarded,
    margin: f64,
    candidate: &str,
) -> Vec<ExperimentRow> {
    let taken = &trial_log.trials;
    let (mut rows, mut costs) = (Vec::new(), Vec::new());
    for (index, spec) in family {
        let change = Comparison::of_log_ratios(&taken.block_logs(index, Factors::ONE, guarded));
        let [a, b] = in_both_states(taken, index, guarded);
        let Some((change, sides)) = change.zip(Sides::of([&a, &b])) else { continue };
        let change = change.widened(trial_log.aa_control.widening);
        rows.push(ExperimentRow {
            row: draft(&spec.into(), &change, sides, candidate.to_owned()),
            ratio: change.ratio,
            ratio_interval: change.interval,
            blocks: change.pairs,
        });
        costs.push(as_cost(change, spec.better));
    }
    judge(rows.iter_mut().map(|row| &mut row.row).zip(costs).collect(), margin, PASSES_PER_BLOCK);
    rows
}

fn in_both_states(taken: &TrialSet, row: usize, guarded: &Guarded) -> [Vec<f64>; 2] {
    [Arm::A, Arm::B].map(|arm| taken.values_in(arm.into(), row, guarded))
}

/// What a row showed where nothing was to be seen; with several states in place of which effect.
pub(crate) fn aa_row(name: &str, effect: &str, logs: &[f64]) -> Option<AaRow> {
    let found = Comparison::of_log_ratios(logs)?;
    let interval: Option<Interval> = found.interval.map(|interval| interval.map(percent));
    Some(AaRow {
        name: name.to_owned(),
        effect: effect.to_owned(),
        change_percent: percent(found.ratio),
        interval,
        p: found.p,
    })
}

/// The A/A control with its rows.
pub(crate) fn aa_control(aa_control: &stats::AaControl, rows: Vec<AaRow>, blocks: usize) -> AaControl {
    AaControl {
        rows,
        blocks,
        alarms: aa_control.alarms,
        alarms_by_chance: aa_control.alarms_by_chance,
        widening: aa_control.widening,
        contaminated: aa_control.is_contaminated(),
    }
}

/// What became of the passes.
pub(crate) fn counts(taken: &TrialSet, guarded: &Guarded, guards: &[GuardSpec]) -> PairCounts {
    let dropped = guards.iter().zip(&guarded.dropped_by).filter(|(_, passes)| **passes > 0);
    let lopsided = guards.iter().zip(&guarded.lopsided).filter_map(|(spec, trials)| {
        Some(LopsidedGuard { guard: spec.name.to_owned(), trials: trials.clone()? })
    });
    PairCounts {
        taken: taken.passes(),
        kept: taken.passes() - guarded.dropped(),
        failed: taken.failed_passes(),
        dropped: dropped
            .map(|(spec, passes)| DroppedPairs { guard: spec.name.to_owned(), pairs: *passes })
            .collect(),
        lopsided: lopsided.collect(),
        unfinished_trials: taken.unfinished,
    }
}

/// Failed runs of each state. In an A/A control that ran apart all states are the baseline.
pub(crate) fn failures(trial_log: &TrialLog) -> Vec<Failures> {
    let factors = trial_log.trials.factors;
    let of_state = |cell: Cell| {
        let proper = trial_log.trials.trials.iter().zip(&trial_log.trials.cells);
        let proper = proper.filter(move |(_, have)| **have == cell).map(|(trial, _)| trial);
        let aa_control = trial_log.aa_trials.trials.iter().filter(move |_| cell == Cell::BASELINE);
        let warmup = trial_log.warmup.iter().filter(move |(have, _)| *have == cell).map(|(_, trial)| trial);
        proper.chain(aa_control).chain(warmup)
    };
    Cell::all(factors)
        .filter_map(|cell| {
            let failed: Vec<&String> = of_state(cell).filter_map(|trial| trial.failure.as_ref()).collect();
            let example = (*failed.first()?).clone();
            let (state, of) = (cell.letters(factors), of_state(cell).count());
            Some(Failures { state, failed: failed.len(), of, example })
        })
        .collect()
}

/// The first guard is the arithmetic probe between the trials.
fn drift(trial_log: &TrialLog) -> SeenDrift {
    let readings = trial_log.trials.column(|trial| trial.guards.first().copied());
    let readings: Vec<f64> = readings.into_iter().filter(|reading| reading.is_finite()).collect();
    let steps = stats::change_points(&readings);
    SeenDrift {
        lag1: stats::lag1_autocorrelation(&readings),
        steps_percent: steps.iter().map(|step| 100.0 * (step.after / step.before - 1.0)).collect(),
    }
}

/// Every trial, the A/A ones first.
pub(crate) fn raw(trial_log: &TrialLog) -> Vec<RawTrial> {
    let finite = |values: &[f64]| values.iter().map(|x| Some(*x).filter(|x| x.is_finite())).collect();
    let of = |taken: &TrialSet, aa: bool| {
        let trial = |(cell, trial): (&Cell, &Trial)| RawTrial {
            aa,
            state: cell.letters(taken.factors),
            values: finite(&trial.values),
            guards: finite(&trial.guards),
        };
        taken.cells.iter().zip(&taken.trials).map(trial).collect::<Vec<_>>()
    };
    let mut all = of(&trial_log.aa_trials, true);
    all.extend(of(&trial_log.trials, false));
    all
}
