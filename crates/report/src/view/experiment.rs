//! An interleaved experiment: what the toggle does, row by row, and what makes it believable.

use record::{
    AaControl, ComparisonRow, DroppedPairs, Ended, ExperimentOutcome, ExperimentRow, Failures, LopsidedGuard,
    PairCounts, SeenDrift,
};
use stats::Verdict;
use stats::text::points;

use super::cells;
use crate::number;
use crate::page::{Cell, Page, Rows, Section, Statement, Table, Tone};

/// Drift is worth a line from this correlation of neighbours on.
const LAG1_NAMED_FROM: f64 = 0.5;
/// A widening below this is not worth a word.
const WIDENING_NAMED_FROM: f64 = 1.05;

/// The experiment as a page.
pub fn experiment_page(found: &ExperimentOutcome) -> Page {
    let verdicts: Vec<Verdict> = found.rows.iter().map(|row| row.row.verdict).collect();
    let mut sections: Vec<Section> =
        (!found.rows.is_empty()).then(|| Section::new("rows", "").table(rows(found))).into_iter().collect();
    // Where runs fail the answer has said it all.
    if found.ended != Ended::Failing {
        let failures = found.failures.iter().map(|one| {
            let state = if one.state == "a" { &found.about.a } else { &found.about.b };
            failure(one, state, found.failures.len())
        });
        sections.extend(method(conditions(found), failures, &found.head.notes));
    }
    Page {
        subject: subject(&found.about.a, &found.about.b),
        answer: Statement::new(answer_tone(&verdicts, found.aa.contaminated), &found.head.sentence),
        sections,
        about: about(found.head.seed, &found.head.tool_version, &found.head.started_utc),
        ..Page::default()
    }
}

/// The state that is compared; of two programs both.
pub(super) fn subject(a: &str, b: &str) -> String {
    match state_names(a, b) {
        [_, name] if b.ends_with(&name) && a != b && name != "B" => b.to_owned(),
        _ => format!("A: {a}; B: {b}"),
    }
}

/// How the answer is meant, by what its rows came to.
pub(super) fn answer_tone(verdicts: &[Verdict], is_contaminated: bool) -> Tone {
    let any = |one: Verdict| verdicts.contains(&one);
    if is_contaminated || verdicts.iter().all(|verdict| *verdict == Verdict::Inconclusive) {
        Tone::Doubt
    } else if any(Verdict::Slower) {
        Tone::Look
    } else if any(Verdict::Faster) || !any(Verdict::Inconclusive) {
        Tone::Good
    } else {
        Tone::Plain
    }
}

/// What is looked up.
pub(super) fn about(seed: u64, tool_version: &str, started_utc: &str) -> Vec<String> {
    vec![format!("seed {seed}; sidestep {tool_version}; started {started_utc}")]
}

/// What failed and the first condition, then with the details all others and what to know of single rows.
pub(super) fn method(
    [first, others]: [Vec<String>; 2],
    failures: impl Iterator<Item = String>,
    notes: &[String],
) -> impl Iterator<Item = Section> {
    let shown = failures.map(Statement::look).chain(first.into_iter().map(Statement::faint));
    let details = others.iter().chain(notes).map(Statement::plain);
    let sections = [
        Section::new("method", "").stating(shown),
        Section::new("conditions", "Conditions").stating(details).detailed(),
    ];
    sections.into_iter().filter_map(Section::filled)
}

/// A table of rows and then of controls, by what each is; states are named by their values.
pub(super) fn judged_rows<'r, R>(
    [a, b]: [&str; 2],
    [rows, controls]: [&'r [R]; 2],
    needed: &'static str,
    of: fn(&R) -> (&ComparisonRow, f64),
) -> Rows<(&'r R, &'static str)> {
    let [a, b] = state_names(a, b);
    let of_control = controls.iter().map(|row| (row, " (control)"));
    let row = move |one: &(&'r R, &str)| of(one.0).0;
    let side = |row: &ComparisonRow, value: f64| value * readable_unit(row).0;
    Table::of("rows", rows.iter().map(|row| (row, "")).chain(of_control))
        .prose("measured", |one| format!("{}{}", row(one).name, one.1))
        .number((a, 1), |one| side(row(one), row(one).a))
        .number((b, 1), |one| side(row(one), row(one).b))
        .word(("unit", 1), |one| readable_unit(row(one)).1.to_owned())
        .number(("change", "%"), |one| cells::change_or_ratio(row(one), of(one.0).1))
        .word("verdict", |one| cells::verdict_of(row(one)))
        .number(("needs", needed, 2), |one| cells::needed(row(one)))
        .number(("q", 3), |one| Cell::q(row(one).q))
}

fn rows(found: &ExperimentOutcome) -> Table {
    let rows = [found.rows.as_slice(), &found.controls];
    let all = found.rows.iter().chain(&found.controls).map(|one| &one.row);
    judged_rows([&found.about.a, &found.about.b], rows, "pairs", |one: &ExperimentRow| (&one.row, one.ratio))
        .legend(cells::legend(all) + "; q: p over all rows")
}

/// What the two states have in common, such as the toggle, stands in the answer.
pub(super) fn state_names(a: &str, b: &str) -> [String; 2] {
    match (a.split_once('='), b.split_once('=')) {
        (Some((first, a)), Some((second, b))) if first == second => [a.to_owned(), b.to_owned()],
        _ => ["A".to_owned(), "B".to_owned()],
    }
}

/// Short runs are shown in milliseconds.
fn readable_unit(row: &ComparisonRow) -> (f64, &str) {
    if row.unit == "s" && row.a.max(row.b) < 1.0 { (1000.0, "ms") } else { (1.0, &row.unit) }
}

/// How it was made.
fn conditions(found: &ExperimentOutcome) -> [Vec<String>; 2] {
    let counts = &found.pair_counts;
    let (pairs, ended) = (number::count(counts.taken, "pair"), ended(found.ended, found.precision_percent));
    let first = format!(
        "{} of {pairs} interleaved in random order{}, {}; {ended} after {:.1} s; margin {} %",
        counts.kept,
        dropped(counts),
        found.about.aggregate,
        found.head.elapsed_s.unwrap_or_default(),
        points(found.head.margin_percent)
    );
    let aa = &found.aa;
    let (blocks, alarms, rows) = (number::count(aa.blocks, "block"), aa.alarms, aa.rows.len());
    let aa =
        format!("A/A first, {blocks} with nothing switched: {alarms} of {rows} rows differed{}", widened(aa));
    [vec![first], [aa].into_iter().chain(drifted(&found.drift)).collect()]
}

/// Why it ended.
pub(super) fn ended(ended: Ended, precision_percent: f64) -> String {
    match ended {
        Ended::Precise => format!("ended at ±{} %", points(precision_percent)),
        Ended::BudgetSpent => "ended by its budget".to_owned(),
        Ended::PairsTaken => "all pairs taken".to_owned(),
        Ended::Failing => "ended as runs fail".to_owned(),
        Ended::Interrupted => "ended by a signal".to_owned(),
    }
}

/// What was dropped, and which guard saw it.
pub(crate) fn dropped(counts: &PairCounts) -> String {
    let by = |DroppedPairs { guard, pairs }: &DroppedPairs| format!("{pairs} by {guard}");
    let kept =
        |LopsidedGuard { guard, .. }: &LopsidedGuard| format!("none by {guard}, which comes with a state");
    let all = number::joined(counts.dropped.iter().map(by).chain(counts.lopsided.iter().map(kept)), ", ");
    if all.is_empty() { all } else { format!(" (dropped: {all})") }
}

/// What the A/A control took back.
pub(super) fn widened(aa: &AaControl) -> String {
    if aa.widening >= WIDENING_NAMED_FROM {
        format!("; all intervals are {:.2} times as wide for it", aa.widening)
    } else {
        String::new()
    }
}

/// What the machine did meanwhile, if it is worth a line.
pub(super) fn drifted(drift: &SeenDrift) -> Option<String> {
    let lag1 = drift.lag1.filter(|lag1| *lag1 >= LAG1_NAMED_FROM)?;
    Some(format!(
        "the machine drifted meanwhile (correlation {lag1:.2} of neighbours, {}); interleaving cancels that",
        number::count(drift.steps_percent.len(), "step")
    ))
}

/// Runs that failed in one state, `states` of which have failures.
pub(super) fn failure(failures: &Failures, state: &str, states: usize) -> String {
    let only = if states == 1 { " only" } else { "" };
    let runs = number::count(failures.of, "run");
    format!("{} of {runs} failed with {state}{only}: {}", failures.failed, failures.example)
}
