//! From the trials of an experiment to judged rows and one sentence.

use record::{
    AaRow, AaTwin, DroppedPairs, EXPERIMENT_SCHEMA, ExperimentOutcome, Failures, LopsidedGuard, PairCounts,
    RawTrial, SeenDrift,
};
use stats::{Arm, Cell, Comparison, Factors, Guarded, Interval, Twin, Verdict};

use super::course::Course;
use super::judged_rows::{Draft, Sides, draft, judge, percent, too_many_zeros};
use super::sentence::{headline, sentence};
use super::subject::{GuardSpec, RowSpec, Taken, Trial};

/// The treatment where two programs take turns.
pub const TWO_PROGRAMS: &str = "two programs";

/// The effect of the only toggle, or of the other program.
const THE_TOGGLE: Factors = Factors::ONE;

/// Words for the document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// What is switched: `ssbd`, or `two programs`.
    pub treatment: String,
    /// What it is switched around: `probes`, or the user's command.
    pub subject: String,
    /// What the sentence calls that: `this program`; empty for probes, which go by their own names.
    pub called: String,
    /// The baseline.
    pub a: String,
    /// What it is compared with.
    pub b: String,
    /// What a trial's value is made of.
    pub aggregate: String,
    /// What the reader has to know, one sentence each.
    pub notes: Vec<String>,
    /// Which sidestep.
    pub tool_version: String,
    /// When it began, RFC 3339.
    pub started_utc: String,
}

/// What was declared before the first trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    /// Differences inside this are of no practical matter: 0.01 for 1 %.
    pub margin: f64,
    /// Half-width of the interval that ends the experiment.
    pub precision: f64,
    /// Of all throws of the coin.
    pub seed: u64,
}

/// What an experiment amounts to.
pub fn outcome(
    course: &Course,
    rows: &[RowSpec],
    guards: &[GuardSpec],
    labels: &Labels,
    declared: &Declared,
) -> ExperimentOutcome {
    let guarded = course.trials.guarded(guards);
    let mut notes = labels.notes.clone();
    let (mut rows_drafted, mut controls_drafted) = (Vec::new(), Vec::new());
    for (index, spec) in rows.iter().enumerate() {
        match drafted(course, index, spec, &guarded, &labels.b) {
            Drafted::Row(row) if spec.is_control() => controls_drafted.push(*row),
            Drafted::Row(row) => rows_drafted.push(*row),
            Drafted::Zeros => {
                notes.push(format!("{}: left out, {}", spec.name, spec.zero));
            }
            Drafted::Nothing => {}
        }
    }
    let (rows_judged, controls) =
        (judge(rows_drafted, declared.margin), judge(controls_drafted, declared.margin));
    let twin_guarded = course.twin_trials.guarded(guards);
    let mut found = ExperimentOutcome {
        schema: EXPERIMENT_SCHEMA,
        sentence: String::new(),
        treatment: labels.treatment.clone(),
        subject: labels.subject.clone(),
        a: labels.a.clone(),
        b: labels.b.clone(),
        pairs: rows_judged.first().map_or(0, |row| row.row.samples[0]),
        rows: rows_judged,
        controls,
        aa: aa(course, rows, &twin_guarded),
        pair_counts: counts(&course.trials, &guarded, guards),
        failures: failures(course),
        drift: drift(course),
        ended: course.ended,
        margin_percent: 100.0 * declared.margin,
        precision_percent: 100.0 * declared.precision,
        aggregate: labels.aggregate.clone(),
        notes,
        tool_version: labels.tool_version.clone(),
        started_utc: labels.started_utc.clone(),
        seed: declared.seed,
        elapsed_s: 0.0,
        raw: raw(course),
    };
    found.sentence = sentence(&found, &labels.called);
    found
}

/// True if the row that the sentence tells has a verdict.
pub fn has_verdict(found: &ExperimentOutcome) -> bool {
    headline(found).is_some_and(|row| row.row.verdict != Verdict::Inconclusive)
}

enum Drafted {
    Row(Box<Draft>),
    Zeros,
    Nothing,
}

/// A row before its family is known, widened by what the twin showed.
fn drafted(course: &Course, index: usize, spec: &RowSpec, guarded: &Guarded, candidate: &str) -> Drafted {
    let taken = &course.trials;
    let [a_side, b_side] = [Arm::A, Arm::B].map(|arm| taken.values_in(arm.into(), index, guarded));
    let (Some(a), Some(b)) = (stats::median(&a_side), stats::median(&b_side)) else {
        return Drafted::Nothing;
    };
    if too_many_zeros(&[a_side.as_slice(), &b_side].concat()) {
        return Drafted::Zeros;
    }
    let logs = taken.block_logs(index, THE_TOGGLE, guarded);
    let Some(change) = Comparison::of_log_ratios(&logs) else { return Drafted::Nothing };
    let interval_of = |side: &[f64]| stats::quantile_interval(&stats::sorted(side), 0.5);
    let sides = Sides {
        a: (a, interval_of(&a_side)),
        b: (b, interval_of(&b_side)),
        samples: [a_side.len(), b_side.len()],
    };
    Drafted::Row(Box::new(draft(spec, change.widened(course.twin.widening), sides, candidate)))
}

fn aa(course: &Course, rows: &[RowSpec], guarded: &Guarded) -> AaTwin {
    let taken = &course.twin_trials;
    let row = |(index, spec): (usize, &RowSpec)| {
        aa_row(&spec.name, "", &taken.block_logs(index, THE_TOGGLE, guarded))
    };
    twin(&course.twin, rows.iter().enumerate().filter_map(row).collect(), taken.blocks())
}

/// What a row showed where nothing was to be seen; of a factorial experiment in place of which effect.
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

/// The twin with its rows.
pub(crate) fn twin(twin: &Twin, rows: Vec<AaRow>, blocks: usize) -> AaTwin {
    AaTwin {
        rows,
        quads: blocks,
        alarms: twin.alarms,
        alarms_by_chance: twin.alarms_by_chance,
        widening: twin.widening,
        contaminated: twin.is_contaminated(),
    }
}

/// What became of the passes.
pub(crate) fn counts(taken: &Taken, guarded: &Guarded, guards: &[GuardSpec]) -> PairCounts {
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

/// Failed runs of each state. In a twin that ran apart all states are the baseline.
pub(crate) fn failures(course: &Course) -> Vec<Failures> {
    let factors = course.trials.factors;
    let of_state = |cell: Cell| {
        let proper = course.trials.trials.iter().zip(&course.trials.cells);
        let proper = proper.filter(move |(_, have)| **have == cell).map(|(trial, _)| trial);
        let twin = course.twin_trials.trials.iter().filter(move |_| cell == Cell::BASELINE);
        let rehearsal =
            course.rehearsal.iter().filter(move |(have, _)| *have == cell).map(|(_, trial)| trial);
        proper.chain(twin).chain(rehearsal)
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
pub(super) fn drift(course: &Course) -> SeenDrift {
    let readings = course.trials.column(|trial| trial.guards.first().copied());
    let readings: Vec<f64> = readings.into_iter().filter(|reading| reading.is_finite()).collect();
    let steps = stats::change_points(&readings);
    SeenDrift {
        lag1: stats::lag1_autocorrelation(&readings),
        steps_percent: steps.iter().map(|step| 100.0 * (step.after / step.before - 1.0)).collect(),
    }
}

/// Every trial, the A/A ones first.
pub(crate) fn raw(course: &Course) -> Vec<RawTrial> {
    let finite = |values: &[f64]| values.iter().map(|x| Some(*x).filter(|x| x.is_finite())).collect();
    let of = |taken: &Taken, twin: bool| {
        let trial = |(cell, trial): (&Cell, &Trial)| RawTrial {
            twin,
            state: cell.letters(taken.factors),
            values: finite(&trial.values),
            guards: finite(&trial.guards),
        };
        taken.cells.iter().zip(&taken.trials).map(trial).collect::<Vec<_>>()
    };
    let mut all = of(&course.twin_trials, true);
    all.extend(of(&course.trials, false));
    all
}
