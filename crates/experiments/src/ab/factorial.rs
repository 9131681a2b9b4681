//! What a factorial experiment amounts to: the effect of each toggle, what they do together, and each combination.
//!
//! An effect is a contrast of the logarithms of all combinations, taken pass by pass and averaged over a block, so that
//! blocks are what chance has drawn (see [`stats::mirrored_block`]). Interactions stay apart from main effects as long as
//! each combination counts alike: a pass with a combination missing is left out whole.

use record::{
    CellValue, ExperimentRow, FACTORIAL_SCHEMA, FactorialCell, FactorialOutcome, FactorialRow,
    FactorialToggle,
};
use stats::{Arm, Cell, Comparison, Factors, Guarded, Verdict};

use super::course::ORDER_AWAITED;
use super::factorial_sentences::sentences;
use super::judged_rows::percent;
pub use super::outcome::Ran;
use super::outcome::{Declared, Labels, counts, drift, failures, raw};
use super::subject::headline_row;

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
    let measured = ran.measured(&guarded, &mut notes);
    let name = |effect: Factors| names(effect, toggles).join(" x ");
    let [rows, controls] = [false, true].map(|of_controls| {
        let row = |(effect, index, row): (Factors, usize, ExperimentRow)| FactorialRow {
            effect: name(effect),
            toggles: names(effect, toggles),
            told: headline_row(ran.rows, effect) == Some(index),
            row,
        };
        let judged = ran.judged(&measured, of_controls, &guarded, declared.margin, name);
        judged.into_iter().map(row).collect::<Vec<_>>()
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
        aa: ran.aa(taken.blocks(), name, |row, effect| taken.twin_logs(row, effect, &guarded)),
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

/// The toggles of an effect: `thp` for a main effect, `thp` and `timer-slack` for an interaction.
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
