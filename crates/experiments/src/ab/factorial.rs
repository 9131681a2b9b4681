//! What a factorial experiment amounts to: the effect of each toggle, what they do together, and each combination.
//!
//! An effect is a contrast of the logarithms of all combinations, taken pass by pass and averaged over a block, so that
//! blocks are what chance has drawn (see [`stats::mirrored_block`]). Interactions stay apart from main effects as long as
//! each combination counts alike: a pass with a combination missing is left out whole.

use record::{
    AaRow, CellValue, FACTORIAL_SCHEMA, FactorialCell, FactorialOutcome, FactorialRow, FactorialToggle,
};
use stats::{Arm, Cell, Comparison, Factors, Guarded, Verdict};

use super::course::{Course, ORDER_AWAITED};
use super::factorial_sentences::sentences;
use super::judged_rows::{Draft, Sides, draft, judge, percent, too_many_zeros};
use super::outcome::{Declared, Labels, aa_row, counts, drift, failures, raw, twin};
use super::subject::{GuardSpec, RowSpec, Taken, told_row};

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

/// What a factorial experiment amounts to. Of `labels` treatment and states are not used: the toggles say them.
pub fn factorial_outcome(
    ran: Ran<'_>,
    toggles: &[FactorialToggle],
    labels: &Labels,
    declared: &Declared,
) -> FactorialOutcome {
    let taken = &ran.course.trials;
    let guarded = taken.guarded(ran.guards);
    let mut notes = labels.notes.clone();
    let mut measured = Vec::new();
    for (index, spec) in ran.rows.iter().enumerate() {
        let all: Vec<f64> =
            Cell::all(taken.factors).flat_map(|cell| taken.values_in(cell, index, &guarded)).collect();
        if all.is_empty() {
            continue;
        }
        if too_many_zeros(&all) {
            notes.push(format!("{}: left out, {}", spec.name, spec.zero));
        } else {
            measured.push(index);
        }
    }
    let [rows, controls] = [false, true].map(|of_controls| {
        let family = measured.iter().copied().filter(|index| ran.rows[*index].is_control() == of_controls);
        judged(ran, &family.collect::<Vec<_>>(), &guarded, toggles, declared)
    });
    let mut found = FactorialOutcome {
        schema: FACTORIAL_SCHEMA,
        sentences: Vec::new(),
        toggles: toggles.to_vec(),
        subject: labels.subject.clone(),
        cells: cells(ran, &measured, &guarded, toggles),
        passes: rows.first().map_or(0, |row| row.row.row.samples[0] / (1 << (taken.factors - 1))),
        rows,
        controls,
        aa: twin(&ran.course.twin, aa_rows(ran, &guarded, toggles), taken.blocks()),
        pass_counts: counts(taken, &guarded, ran.guards),
        failures: failures(ran.course),
        drift: drift(ran.course),
        ended: ran.course.ended,
        margin_percent: 100.0 * declared.margin,
        precision_percent: 100.0 * declared.precision,
        aggregate: labels.aggregate.clone(),
        notes,
        tool_version: labels.tool_version.clone(),
        started_utc: labels.started_utc.clone(),
        seed: declared.seed,
        elapsed_s: 0.0,
        raw: raw(ran.course),
    };
    found.sentences = sentences(&found, &labels.called);
    found
}

/// True if every effect that the experiment waited for has a verdict.
pub fn has_verdicts(found: &FactorialOutcome) -> bool {
    let awaited = found.rows.iter().filter(|row| row.told && row.toggles.len() <= ORDER_AWAITED);
    awaited.clone().count() > 0 && awaited.clone().all(|row| row.row.row.verdict != Verdict::Inconclusive)
}

/// What an effect is called: `thp`, or `thp x timer-slack`.
fn effect_name(effect: Factors, toggles: &[FactorialToggle]) -> String {
    names(effect, toggles).join(" x ")
}

fn names(effect: Factors, toggles: &[FactorialToggle]) -> Vec<String> {
    effect.members().filter_map(|toggle| toggles.get(toggle)).map(|toggle| toggle.name.clone()).collect()
}

/// What a combination is called: `thp=on, timer-slack=1ms`.
pub(super) fn cell_name(cell: Cell, toggles: &[FactorialToggle]) -> String {
    let state = |(index, toggle): (usize, &FactorialToggle)| {
        let value = if cell.arm(index) == Arm::A { &toggle.a } else { &toggle.b };
        format!("{}={value}", toggle.name)
    };
    toggles.iter().enumerate().map(state).collect::<Vec<_>>().join(", ")
}

/// Every effect on every row of a family, effects of one row together.
fn judged(
    ran: Ran<'_>,
    family: &[usize],
    guarded: &Guarded,
    toggles: &[FactorialToggle],
    declared: &Declared,
) -> Vec<FactorialRow> {
    let (mut drafts, mut kinds) = (Vec::new(), Vec::new());
    for index in family {
        for effect in Factors::effects(ran.course.trials.factors) {
            if let Some(row) = drafted(ran, *index, effect, guarded, &effect_name(effect, toggles)) {
                drafts.push(row);
                kinds.push((effect, told_row(ran.rows, effect) == Some(*index)));
            }
        }
    }
    let row = |(row, (effect, told))| FactorialRow {
        effect: effect_name(effect, toggles),
        toggles: names(effect, toggles),
        told,
        row,
    };
    judge(drafts, declared.margin).into_iter().zip(kinds).map(row).collect()
}

/// One effect on one row, widened by what the twin showed.
fn drafted(ran: Ran<'_>, index: usize, effect: Factors, guarded: &Guarded, name: &str) -> Option<Draft> {
    let taken = &ran.course.trials;
    let change = Comparison::of_log_ratios(&taken.block_logs(index, effect, guarded))?;
    let sides = sides(taken, index, effect, guarded)?;
    Some(draft(&ran.rows[index], change.widened(ran.course.twin.widening), sides, name))
}

fn sides(taken: &Taken, row: usize, effect: Factors, guarded: &Guarded) -> Option<Sides> {
    let values = |cell| taken.values_in(cell, row, guarded);
    let median = |cell| stats::median(&values(cell)).map(f64::ln);
    let logs: Vec<f64> = Cell::all(taken.factors).map(median).collect::<Option<_>>()?;
    let set: Vec<f64> = Cell::all(taken.factors)
        .filter(|cell| effect.are_set(*cell))
        .map(|cell| logs[cell.index()])
        .collect();
    let with = set.iter().sum::<f64>() / set.len() as f64;
    let samples = [-1.0, 1.0].map(|side| {
        let of_side = Cell::all(taken.factors).filter(|cell| effect.sign(*cell) * side > 0.0);
        of_side.map(|cell| values(cell).len()).sum()
    });
    let without = with - effect.contrast(&logs);
    Some(Sides { a: (without.exp(), None), b: (with.exp(), None), samples })
}

fn cells(
    ran: Ran<'_>,
    measured: &[usize],
    guarded: &Guarded,
    toggles: &[FactorialToggle],
) -> Vec<FactorialCell> {
    let factors = ran.course.trials.factors;
    let cell = |cell: Cell| FactorialCell {
        state: cell.letters(factors),
        name: cell_name(cell, toggles),
        values: measured.iter().filter_map(|index| cell_value(ran, cell, *index, guarded)).collect(),
    };
    Cell::all(factors).map(cell).collect()
}

fn cell_value(ran: Ran<'_>, cell: Cell, index: usize, guarded: &Guarded) -> Option<CellValue> {
    let taken = &ran.course.trials;
    let values = stats::sorted(&taken.values_in(cell, index, guarded));
    let change = if cell == Cell::BASELINE {
        None
    } else {
        Comparison::of_log_ratios(&taken.baseline_logs(index, cell, guarded))
            .map(|change| change.widened(ran.course.twin.widening))
    };
    Some(CellValue {
        name: ran.rows[index].name.clone(),
        unit: ran.rows[index].unit.clone(),
        median: stats::median(&values)?,
        interval: stats::quantile_interval(&values, 0.5),
        samples: values.len(),
        change_percent: change.map(|change| percent(change.ratio)),
        change_interval: change.and_then(|change| change.interval).map(|interval| interval.map(percent)),
    })
}

fn aa_rows(ran: Ran<'_>, guarded: &Guarded, toggles: &[FactorialToggle]) -> Vec<AaRow> {
    let taken = &ran.course.trials;
    let of_row = |(index, spec): (usize, &RowSpec)| {
        let of_effect = |effect| {
            aa_row(&spec.name, &effect_name(effect, toggles), &taken.twin_logs(index, effect, guarded))
        };
        Factors::effects(taken.factors).into_iter().filter_map(of_effect).collect::<Vec<_>>()
    };
    ran.rows.iter().enumerate().flat_map(of_row).collect()
}
