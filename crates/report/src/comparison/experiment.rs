//! An interleaved experiment in the terminal: the sentence, the table, and what makes it believable.

use record::{
    AaTwin, ComparisonRow, DroppedPairs, Ended, ExperimentOutcome, ExperimentRow, Failures, LopsidedGuard,
    PairCounts, SeenDrift,
};

use super::wording;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// Drift is worth a line from this correlation of neighbours on.
const LAG1_TOLD_FROM: f64 = 0.5;
/// The name of a state takes at most this many columns above its numbers.
const STATE_COLUMNS: usize = 16;
/// A widening below this is not told.
const WIDENING_TOLD_FROM: f64 = 1.05;

/// The experiment for people.
pub fn experiment_terminal(found: &ExperimentOutcome, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    if found.aa.contaminated {
        paper.wrapped_inked(
            Ink::Warning,
            "",
            "NOT TO BE BELIEVED: more rows differed from themselves than chance explains",
        );
    }
    paper.wrapped_inked(Ink::Strong, "", &plain(&found.sentence));
    paper.blank();
    if !found.rows.is_empty() {
        rows(&mut paper, found);
        paper.blank();
    }
    // The sentence has said it all.
    let failing = found.ended == Ended::Failing;
    for line in conditions(found).into_iter().filter(|_| !failing) {
        paper.wrapped_inked(Ink::Faint, "  ", &plain(&line));
    }
    for failures in found.failures.iter().filter(|_| !failing) {
        paper.wrapped_inked(Ink::Warning, "! ", &plain(&failure(failures, found)));
    }
    for note in &found.notes {
        paper.wrapped("note  ", &plain(note));
    }
    paper.finish()
}

fn rows(paper: &mut Paper, found: &ExperimentOutcome) {
    let states = state_names(&found.a, &found.b).map(|name| short(&name));
    let [a, b] = states;
    let headers = ["", &a, &b, "", "change %", "q", "verdict"].map(str::to_owned);
    let mut table = table_of(&headers);
    let all =
        found.rows.iter().map(|row| (row, "")).chain(found.controls.iter().map(|row| (row, " (control)")));
    for (row, mark) in all {
        table.add_row(cells(row, mark));
    }
    if let Some(column) = table.column_mut(3) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    paper.table(table);
    paper.faint("change ± distance to the end of its 95 % interval; q: p over all rows");
}

/// What the two states have in common, such as the toggle, is told in the sentence.
pub(super) fn state_names(a: &str, b: &str) -> [String; 2] {
    match (a.split_once('='), b.split_once('=')) {
        (Some((first, a)), Some((second, b))) if first == second => [a.to_owned(), b.to_owned()],
        _ => ["A".to_owned(), "B".to_owned()],
    }
}

pub(super) fn short(name: &str) -> String {
    plain(name).chars().take(STATE_COLUMNS).collect()
}

fn cells(row: &ExperimentRow, mark: &str) -> Vec<String> {
    let one = &row.row;
    let times = if row.ratio >= 2.0 { format!("{:.2}x", row.ratio) } else { wording::change(one) };
    let (factor, unit) = readable_unit(one);
    vec![
        format!("{}{mark}", plain(&one.name)),
        number::column(one.a * factor),
        number::column(one.b * factor),
        unit,
        times,
        wording::q_value(one.q),
        wording::verdict_short(one),
    ]
}

/// Short runs are told in milliseconds.
pub(super) fn readable_unit(row: &ComparisonRow) -> (f64, String) {
    if row.unit == "s" && row.a.max(row.b) < 1.0 {
        (1000.0, "ms".to_owned())
    } else {
        (1.0, plain(&row.unit))
    }
}

/// How it was made.
fn conditions(found: &ExperimentOutcome) -> Vec<String> {
    let counts = &found.pair_counts;
    let mut lines = vec![format!(
        "{} of {} in random turns{}, {}; {} after {:.1} s; margin {} %",
        counts.kept,
        number::count(counts.taken, "pair"),
        dropped(counts),
        found.aggregate,
        ended(found.ended, found.precision_percent),
        found.elapsed_s,
        wording::percent(found.margin_percent)
    )];
    let aa = &found.aa;
    lines.push(format!(
        "A/A first, {} with nothing switched: {} of {} rows differed{}",
        number::count(aa.quads, "quad"),
        aa.alarms,
        aa.rows.len(),
        widened(aa)
    ));
    lines.extend(drifted(&found.drift));
    lines
}

/// Why it ended.
pub(super) fn ended(ended: Ended, precision_percent: f64) -> String {
    match ended {
        Ended::Precise => format!("ended at ±{} %", wording::percent(precision_percent)),
        Ended::BudgetSpent => "ended as its time was up".to_owned(),
        Ended::PairsTaken => "all pairs taken".to_owned(),
        Ended::Failing => "ended as runs fail".to_owned(),
        Ended::Interrupted => "ended by a signal".to_owned(),
    }
}

/// What was left out, and which guard saw it.
pub(crate) fn dropped(counts: &PairCounts) -> String {
    let by = |DroppedPairs { guard, pairs }: &DroppedPairs| format!("{pairs} by {guard}");
    let dropped: Vec<String> = counts.dropped.iter().map(by).collect();
    let kept = counts
        .lopsided
        .iter()
        .map(|LopsidedGuard { guard, .. }| format!("none by {guard}, which comes with a state"));
    let all: Vec<String> = dropped.into_iter().chain(kept).collect();
    if all.is_empty() { String::new() } else { format!(" (dropped: {})", all.join(", ")) }
}

/// What the twin took back.
pub(super) fn widened(aa: &AaTwin) -> String {
    if aa.widening >= WIDENING_TOLD_FROM {
        format!("; all intervals are made {:.2} times as wide", aa.widening)
    } else {
        String::new()
    }
}

/// What the machine did meanwhile, if it is worth a line.
pub(super) fn drifted(drift: &SeenDrift) -> Option<String> {
    let lag1 = drift.lag1.filter(|lag1| *lag1 >= LAG1_TOLD_FROM)?;
    Some(format!(
        "the machine itself drifted meanwhile (correlation {lag1:.2} of neighbours, {}); turns cancel that",
        number::count(drift.steps_percent.len(), "step")
    ))
}

fn failure(failures: &Failures, found: &ExperimentOutcome) -> String {
    let state = if failures.state == "a" { &found.a } else { &found.b };
    let only = if found.failures.len() == 1 { " only" } else { "" };
    format!(
        "{} of {} failed with {state}{only}: {}",
        failures.failed,
        number::count(failures.of, "run"),
        failures.example
    )
}
