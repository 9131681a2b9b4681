//! An interleaved experiment: what the toggle does, row by row, and what makes it believable.

use record::{
    AaTwin, ComparisonRow, DroppedPairs, Ended, ExperimentOutcome, ExperimentRow, Failures, LopsidedGuard,
    PairCounts, SeenDrift,
};
use stats::Verdict;

use crate::comparison::{cells, wording};
use crate::number;
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// Drift is worth a line from this correlation of neighbours on.
const LAG1_TOLD_FROM: f64 = 0.5;
/// A widening below this is not worth a word.
const WIDENING_TOLD_FROM: f64 = 1.05;

/// The experiment as a page.
pub fn experiment_page(found: &ExperimentOutcome) -> Page {
    let is_failing = found.ended == Ended::Failing;
    let verdicts: Vec<Verdict> = found.rows.iter().map(|row| row.row.verdict).collect();
    let mut sections = Vec::new();
    if !found.rows.is_empty() {
        sections.push(Section::new("rows", "").with(Block::Table(rows(found))));
    }
    // Where runs fail the answer has said it all.
    if !is_failing {
        let failures = found.failures.iter().map(|one| {
            let state = if one.state == "a" { &found.a } else { &found.b };
            failure(one, state, found.failures.len())
        });
        sections.extend(method(conditions(found), failures.collect(), &found.notes));
    }
    Page {
        subject: subject(&found.a, &found.b),
        answer: Statement::new(answer_tone(&verdicts, found.aa.contaminated), &found.sentence),
        sections,
        about: about(found.seed, &found.tool_version, &found.started_utc),
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
    failures: Vec<String>,
    notes: &[String],
) -> impl Iterator<Item = Section> {
    let statement = |tone: Tone| move |text: String| Block::Text(Statement::new(tone, text));
    let mut shown: Vec<Block> = failures.into_iter().map(statement(Tone::Look)).collect();
    shown.extend(first.into_iter().map(statement(Tone::Faint)));
    let mut details: Vec<Block> = others.into_iter().map(statement(Tone::Plain)).collect();
    details.extend(notes.iter().cloned().map(statement(Tone::Plain)));
    let sections = [
        Section { blocks: shown, ..Section::new("method", "") },
        Section { blocks: details, ..Section::detail("conditions", "Conditions") },
    ];
    sections.into_iter().filter(|section| !section.blocks.is_empty())
}

/// The columns of a table of rows; states are named by their values.
pub(super) fn columns(a: &str, b: &str, needed: &'static str) -> Vec<Column> {
    let [a, b] = state_names(a, b);
    vec![
        Column::prose("measured"),
        Column::number(a, "").priority(1),
        Column::number(b, "").priority(1),
        Column::word("unit").priority(1),
        Column::number("change", "%"),
        Column::word("verdict"),
        Column::number("needs", needed).priority(2),
        Column::number("q", "").priority(3),
    ]
}

/// The cells of these columns.
pub(super) fn cells_of(row: &ComparisonRow, ratio: f64, mark: &str) -> Vec<Cell> {
    let (factor, unit) = readable_unit(row);
    let side = |value: f64| Cell::number(value * factor);
    vec![
        Cell::text(format!("{}{mark}", row.name)),
        side(row.a),
        side(row.b),
        Cell::text(unit),
        cells::change_or_ratio(row, ratio),
        cells::verdict_of(row),
        cells::needed(row),
        cells::q_value(row.q),
    ]
}

fn rows(found: &ExperimentOutcome) -> Table {
    let mut table = Table::new("rows", columns(&found.a, &found.b, "pairs"));
    let mut add = |rows: &[ExperimentRow], mark: &str| {
        for row in rows {
            table.row(cells_of(&row.row, row.ratio, mark));
        }
    };
    add(&found.rows, "");
    add(&found.controls, " (control)");
    table.legend = Some("change ± distance to the end of its 95 % interval; q: p over all rows".to_owned());
    table
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
    let first = format!(
        "{} of {} interleaved in random order{}, {}; {} after {:.1} s; margin {} %",
        counts.kept,
        number::count(counts.taken, "pair"),
        dropped(counts),
        found.aggregate,
        ended(found.ended, found.precision_percent),
        found.elapsed_s,
        wording::percent(found.margin_percent)
    );
    let aa = &found.aa;
    let mut others = vec![format!(
        "A/A first, {} with nothing switched: {} of {} rows differed{}",
        number::count(aa.quads, "quad"),
        aa.alarms,
        aa.rows.len(),
        widened(aa)
    )];
    others.extend(drifted(&found.drift));
    [vec![first], others]
}

/// Why it ended.
pub(super) fn ended(ended: Ended, precision_percent: f64) -> String {
    match ended {
        Ended::Precise => format!("ended at ±{} %", wording::percent(precision_percent)),
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
    let all: Vec<String> = counts.dropped.iter().map(by).chain(counts.lopsided.iter().map(kept)).collect();
    if all.is_empty() { String::new() } else { format!(" (dropped: {})", all.join(", ")) }
}

/// What the twin took back.
pub(super) fn widened(aa: &AaTwin) -> String {
    if aa.widening >= WIDENING_TOLD_FROM {
        format!("; all intervals are {:.2} times as wide for it", aa.widening)
    } else {
        String::new()
    }
}

/// What the machine did meanwhile, if it is worth a line.
pub(super) fn drifted(drift: &SeenDrift) -> Option<String> {
    let lag1 = drift.lag1.filter(|lag1| *lag1 >= LAG1_TOLD_FROM)?;
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
