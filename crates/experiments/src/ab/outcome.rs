//! From the trials of an experiment to judged rows and one sentence.

use record::{
    AaRow, AaTwin, DroppedPairs, EXPERIMENT_SCHEMA, ExperimentOutcome, ExperimentRow, Failures,
    LopsidedGuard, PairCounts, RawTrial, SeenDrift,
};
use stats::{Cell, Comparison, Factors, Guarded, Interval, Twin, Verdict};

use super::course::Course;
use super::judged_rows::{Sides, as_cost, draft, judge, percent, too_many_zeros};
use super::sentence::{headline, sentence};
use super::subject::{GuardSpec, PASSES_PER_BLOCK, RowSpec, Taken, Trial};

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
    /// Of all random choices.
    pub seed: u64,
}

/// The experiment as its outcome sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ran<'a> {
    /// All that happened.
    pub course: &'a Course,
    /// What every trial measured.
    pub rows: &'a [RowSpec],
    /// What was watched beside.
    pub guards: &'a [GuardSpec],
}

/// What an experiment with one toggle, or two programs, amounts to.
pub fn outcome(
    course: &Course,
    rows: &[RowSpec],
    guards: &[GuardSpec],
    labels: &Labels,
    declared: &Declared,
) -> ExperimentOutcome {
    let ran = Ran { course, rows, guards };
    let guarded = course.trials.guarded(guards);
    let mut notes = labels.notes.clone();
    let measured = ran.measured(&guarded, &mut notes);
    let [rows_judged, controls] = [false, true].map(|of_controls| {
        let judged = ran.judged(&measured, of_controls, &guarded, declared.margin, |_| labels.b.clone());
        judged.into_iter().map(|(.., row)| row).collect::<Vec<_>>()
    });
    let twin_guarded = course.twin_trials.guarded(guards);
    let twin_logs = |row, effect| course.twin_trials.block_logs(row, effect, &twin_guarded);
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
        aa: ran.aa(course.twin_trials.blocks(), |_| String::new(), twin_logs),
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

impl Ran<'_> {
    /// The rows that have a ratio, by index; of those that are mostly zero a note says why they have none.
    pub(super) fn measured(&self, guarded: &Guarded, notes: &mut Vec<String>) -> Vec<usize> {
        let taken = &self.course.trials;
        let mut measured = Vec::new();
        for (index, spec) in self.rows.iter().enumerate() {
            let of_cell = |cell| taken.values_in(cell, index, guarded);
            let all: Vec<f64> = Cell::all(taken.factors).flat_map(of_cell).collect();
            if too_many_zeros(&all) {
                notes.push(format!("{}: left out, {}", spec.name, spec.zero));
            } else if !all.is_empty() {
                measured.push(index);
            }
        }
        measured
    }

    /// Every effect on every row of a family, or of the controls, widened by what the twin showed; effects of one row together.
    pub(super) fn judged(
        &self,
        measured: &[usize],
        of_controls: bool,
        guarded: &Guarded,
        margin: f64,
        candidate: impl Fn(Factors) -> String,
    ) -> Vec<(Factors, usize, ExperimentRow)> {
        let taken = &self.course.trials;
        let (mut rows, mut costs) = (Vec::new(), Vec::new());
        for index in measured.iter().filter(|index| self.rows[**index].is_control() == of_controls) {
            let spec = &self.rows[*index];
            for effect in Factors::effects(taken.factors) {
                let change = Comparison::of_log_ratios(&taken.block_logs(*index, effect, guarded));
                let Some((change, sides)) = change.zip(sides(taken, *index, effect, guarded)) else {
                    continue;
                };
                let change = change.widened(self.course.twin.widening);
                let row = ExperimentRow {
                    row: draft(&spec.into(), &change, sides, candidate(effect)),
                    ratio: change.ratio,
                    ratio_interval: change.interval,
                    quads: change.pairs,
                };
                rows.push((effect, *index, row));
                costs.push(as_cost(change, spec.better));
            }
        }
        let family = rows.iter_mut().map(|(.., row)| &mut row.row).zip(costs).collect();
        judge(family, margin, PASSES_PER_BLOCK);
        rows
    }

    /// The twin of so many blocks: what each row showed in place of each effect.
    pub(super) fn aa(
        &self,
        blocks: usize,
        name: impl Fn(Factors) -> String,
        logs: impl Fn(usize, Factors) -> Vec<f64>,
    ) -> AaTwin {
        let effects = Factors::effects(self.course.trials.factors);
        let rows = self.rows.iter().enumerate().flat_map(|(index, spec)| {
            let of_effect = |effect: &Factors| aa_row(&spec.name, &name(*effect), &logs(index, *effect));
            effects.iter().filter_map(of_effect).collect::<Vec<_>>()
        });
        twin(&self.course.twin, rows.collect(), blocks)
    }
}

/// The values between which an effect leads: the two states, or what they would be on average over those of the other toggles.
fn sides(taken: &Taken, row: usize, effect: Factors, guarded: &Guarded) -> Option<Sides> {
    let cells = || Cell::all(taken.factors);
    let values: Vec<Vec<f64>> = cells().map(|cell| taken.values_in(cell, row, guarded)).collect();
    if let [a, b] = values.as_slice() {
        return Sides::of([a, b]);
    }
    let logs = values.iter().map(|values| stats::median(values).map(f64::ln));
    let logs: Vec<f64> = logs.collect::<Option<_>>()?;
    let set: Vec<f64> = cells().filter(|cell| effect.are_set(*cell)).map(|cell| logs[cell.index()]).collect();
    let with = set.iter().sum::<f64>() / set.len() as f64;
    let samples = [-1.0, 1.0].map(|side| {
        cells().filter(|cell| effect.sign(*cell) * side > 0.0).map(|cell| values[cell.index()].len()).sum()
    });
    let without = with - effect.contrast(&logs);
    Some(Sides { a: (without.exp(), None), b: (with.exp(), None), samples })
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
