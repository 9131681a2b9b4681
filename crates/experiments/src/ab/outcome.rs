//! From the trials of an experiment to judged rows and one sentence.

use record::{
    AaRow, AaTwin, Better, ComparisonRow, DroppedPairs, EXPERIMENT_SCHEMA, ExperimentOutcome, ExperimentRow,
    Failures, PairCounts, RawTrial, SeenDrift,
};
use stats::{Arm, Comparison, Guarded, Interval, Verdict, benjamini_hochberg};

use super::course::Course;
use super::sentence::{headline, sentence};
use super::subject::{GuardSpec, RowSpec, Taken, Trial};

/// A row of which more than this share of the values is zero has no ratio: the kernel's counter is too coarse for it.
const ZEROS_MAX: f64 = 0.02;

/// The treatment where two programs take turns.
pub const TWO_PROGRAMS: &str = "two programs";

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
    let mut drafts: Vec<(ExperimentRow, Option<Comparison>)> = Vec::new();
    for (index, spec) in rows.iter().enumerate() {
        match draft(course, index, spec, &guarded, &labels.b) {
            Drafted::Row(row, comparison) => drafts.push((*row, comparison)),
            Drafted::Zeros => {
                notes.push(format!("{}: left out, {}", spec.name, spec.zero));
            }
            Drafted::Nothing => {}
        }
    }
    let (mut rows_judged, mut controls) = (Vec::new(), Vec::new());
    for is_control in [false, true] {
        let family: Vec<&(ExperimentRow, Option<Comparison>)> =
            drafts.iter().filter(|(row, _)| row.row.control == is_control).collect();
        let judged = judge(&family, declared.margin);
        *(if is_control { &mut controls } else { &mut rows_judged }) = judged;
    }
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
    Row(Box<ExperimentRow>, Option<Comparison>),
    Zeros,
    Nothing,
}

/// A row before its family is known; the comparison is one of costs, widened by what the twin showed.
fn draft(course: &Course, index: usize, spec: &RowSpec, guarded: &Guarded, candidate: &str) -> Drafted {
    let taken = &course.trials;
    let [a_side, b_side] = [Arm::A, Arm::B].map(|arm| taken.side(index, arm, guarded));
    let (Some(a), Some(b)) = (stats::median(&a_side), stats::median(&b_side)) else {
        return Drafted::Nothing;
    };
    let zeros = a_side.iter().chain(&b_side).filter(|value| **value <= 0.0).count();
    if zeros as f64 > ZEROS_MAX * (a_side.len() + b_side.len()) as f64 {
        return Drafted::Zeros;
    }
    let logs = taken.quad_logs(index, guarded);
    let Some(change) = Comparison::of_log_ratios(&logs) else { return Drafted::Nothing };
    let change = change.widened(course.twin.widening);
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let interval_of = |side: &[f64]| stats::quantile_interval(&stats::sorted(side), 0.5);
    let row = ComparisonRow {
        name: spec.name.clone(),
        group: spec.group.clone(),
        unit: spec.unit.clone(),
        better: spec.better,
        candidate: candidate.to_owned(),
        a,
        b,
        a_interval: interval_of(&a_side),
        b_interval: interval_of(&b_side),
        change_percent: percent(change.ratio),
        interval: change.interval.map(|interval| interval.map(percent)),
        symmetric_percent: stats::symmetric_percent(1.0, change.ratio),
        verdict: Verdict::Inconclusive,
        margin_percent: 0.0,
        p: Some(change.p),
        q: None,
        further_runs: None,
        samples: [a_side.len(), b_side.len()],
        paired: true,
        control: spec.control,
    };
    let row =
        ExperimentRow { row, ratio: change.ratio, ratio_interval: change.interval, quads: change.pairs };
    Drafted::Row(Box::new(row), Some(as_cost(change, spec.better)))
}

/// The comparison as one of costs: above 1 is slower.
fn as_cost(change: Comparison, better: Better) -> Comparison {
    match better {
        Better::Lower => change,
        Better::Higher => Comparison {
            ratio: change.ratio.recip(),
            interval: change.interval.map(|interval| interval.map(f64::recip)),
            equivalence_interval: change.equivalence_interval.map(|interval| interval.map(f64::recip)),
            ..change
        },
    }
}

/// Verdicts of a family of rows.
fn judge(family: &[&(ExperimentRow, Option<Comparison>)], margin: f64) -> Vec<ExperimentRow> {
    let p_values: Vec<f64> = family.iter().map(|(row, _)| row.row.p.unwrap_or(1.0)).collect();
    let q_values = benjamini_hochberg(&p_values);
    let judged = |((row, comparison), q): (&&(ExperimentRow, Option<Comparison>), f64)| {
        let mut row = row.clone();
        row.row.q = Some(q);
        row.row.margin_percent = 100.0 * margin;
        if let Some(cost) = comparison {
            row.row.verdict = cost.verdict_in_family(margin, q);
            let further_quads =
                cost.further_pairs(margin).filter(|_| row.row.verdict == Verdict::Inconclusive);
            row.row.further_runs = further_quads.map(|quads| quads.max(1) * super::subject::PAIRS_PER_QUAD);
        }
        row
    };
    family.iter().zip(q_values).map(judged).collect()
}

fn aa(course: &Course, rows: &[RowSpec], guarded: &Guarded) -> AaTwin {
    let taken = &course.twin_trials;
    let row = |(index, spec): (usize, &RowSpec)| {
        let found = Comparison::of_log_ratios(&taken.quad_logs(index, guarded))?;
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let interval: Option<Interval> = found.interval.map(|interval| interval.map(percent));
        Some(AaRow { name: spec.name.clone(), change_percent: percent(found.ratio), interval, p: found.p })
    };
    let twin = &course.twin;
    AaTwin {
        rows: rows.iter().enumerate().filter_map(row).collect(),
        quads: taken.quads(),
        alarms: twin.alarms,
        alarms_by_chance: twin.alarms_by_chance,
        widening: twin.widening,
        contaminated: twin.is_contaminated(),
    }
}

fn counts(taken: &Taken, guarded: &Guarded, guards: &[GuardSpec]) -> PairCounts {
    let dropped = guards.iter().zip(&guarded.dropped_by).filter(|(_, pairs)| **pairs > 0);
    PairCounts {
        taken: taken.pairs(),
        kept: taken.pairs() - guarded.dropped(),
        failed: taken.failed_pairs(),
        dropped: dropped
            .map(|(spec, pairs)| DroppedPairs { guard: spec.name.to_owned(), pairs: *pairs })
            .collect(),
        unfinished_trials: taken.unfinished,
    }
}

/// Failed runs of each state. In the twin both sides are A.
fn failures(course: &Course) -> Vec<Failures> {
    let of_state = |arm: Arm| {
        let proper = course.trials.trials.iter().zip(&course.trials.arms);
        let proper = proper.filter(move |(_, have)| **have == arm).map(|(trial, _)| trial);
        let twin = course.twin_trials.trials.iter().filter(move |_| arm == Arm::A);
        let rehearsal = course.rehearsal.iter().filter(move |(have, _)| *have == arm).map(|(_, trial)| trial);
        proper.chain(twin).chain(rehearsal)
    };
    [(Arm::A, "a"), (Arm::B, "b")]
        .into_iter()
        .filter_map(|(arm, state)| {
            let failed: Vec<&String> = of_state(arm).filter_map(|trial| trial.failure.as_ref()).collect();
            let example = (*failed.first()?).clone();
            Some(Failures {
                state: state.to_owned(),
                failed: failed.len(),
                of: of_state(arm).count(),
                example,
            })
        })
        .collect()
}

/// The first guard is the arithmetic probe between the trials.
fn drift(course: &Course) -> SeenDrift {
    let readings = course.trials.column(|trial| trial.guards.first().copied());
    let readings: Vec<f64> = readings.into_iter().filter(|reading| reading.is_finite()).collect();
    let steps = stats::change_points(&readings);
    SeenDrift {
        lag1: stats::lag1_autocorrelation(&readings),
        steps_percent: steps.iter().map(|step| 100.0 * (step.after / step.before - 1.0)).collect(),
    }
}

fn raw(course: &Course) -> Vec<RawTrial> {
    let finite = |values: &[f64]| values.iter().map(|x| Some(*x).filter(|x| x.is_finite())).collect();
    let of = |taken: &Taken, twin: bool| {
        let trial = |(arm, trial): (&Arm, &Trial)| RawTrial {
            twin,
            state: if *arm == Arm::A { "a" } else { "b" }.to_owned(),
            values: finite(&trial.values),
            guards: finite(&trial.guards),
        };
        taken.arms.iter().zip(&taken.trials).map(trial).collect::<Vec<_>>()
    };
    let mut all = of(&course.twin_trials, true);
    all.extend(of(&course.trials, false));
    all
}
