//! A factorial experiment: its effects in sentences, all combinations, the effects as a table, what makes them believable.

use record::{CellValue, Ended, FactorialCell, FactorialOutcome, FactorialRow};
use stats::Verdict;

use super::experiment::{about, answer_tone, drifted, dropped, ended, failure, method, widened};
use crate::comparison::{cells, wording};
use crate::number;
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// The experiment as a page.
pub fn factorial_page(found: &FactorialOutcome) -> Page {
    let told = found.rows.iter().filter(|row| row.told);
    let verdicts: Vec<Verdict> = told.map(|row| row.row.row.verdict).collect();
    let mut sentences = found.sentences.iter();
    let answer = sentences.next().map(String::as_str).unwrap_or_default();
    let mut sections = Vec::new();
    // Where runs fail the answer has said it all.
    if found.ended != Ended::Failing {
        if !found.rows.is_empty() {
            let names = told_names(found);
            let table = Block::Table(combinations(found, &names));
            sections.push(Section::new("combinations", "").with(table));
            sections.push(effects(found, &names));
        }
        let failures = found.failures.iter().map(|one| {
            let cell = found.cells.iter().find(|cell| cell.state == one.state);
            failure(one, cell.map_or(&one.state, |cell| &cell.name), found.failures.len())
        });
        sections.extend(method(conditions(found), failures.collect(), &found.notes));
    }
    Page {
        answer: Statement::new(answer_tone(&verdicts, found.aa.contaminated), answer),
        because: sentences.map(|one| Statement::new(Tone::Plain, one)).collect(),
        sections,
        about: about(found.seed, &found.tool_version, &found.started_utc),
        ..Page::default()
    }
}

/// The rows that a sentence is about, in their order.
fn told_names(found: &FactorialOutcome) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in found.rows.iter().filter(|row| row.told) {
        let name = row.row.row.name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What the rows of the sentences were in each combination.
fn combinations(found: &FactorialOutcome, names: &[&str]) -> Table {
    let mut columns = vec![Column::prose("measured").priority(1)];
    columns.extend(found.toggles.iter().map(|toggle| Column::word(toggle.name.clone())));
    columns.extend([
        Column::number("median", ""),
        Column::word("unit"),
        Column::number("against the first", "%"),
        Column::number("runs", "").priority(1),
    ]);
    let mut table = Table::new("combinations", columns);
    for name in names {
        let value_of = |cell: &FactorialCell| cell.values.iter().find(|value| value.name == *name).cloned();
        let all: Vec<Option<CellValue>> = found.cells.iter().map(value_of).collect();
        let largest = all.iter().flatten().map(|value| value.median).fold(0.0, f64::max);
        for (cell, value) in found.cells.iter().zip(&all) {
            let letters = cell.state.chars().zip(&found.toggles);
            let states = letters.map(|(letter, toggle)| if letter == 'a' { &toggle.a } else { &toggle.b });
            let mut cells = vec![Cell::text(*name)];
            cells.extend(states.map(Cell::text));
            cells.extend(value.as_ref().map_or_else(Default::default, |value| values(value, largest)));
            table.row(cells);
        }
    }
    table
}

/// Median, unit, change and runs. Short runs are shown in milliseconds.
fn values(value: &CellValue, largest: f64) -> [Cell; 4] {
    let is_short = value.unit == "s" && largest < 1.0;
    let (factor, unit) = if is_short { (1000.0, "ms") } else { (1.0, value.unit.as_str()) };
    [median(value, factor), Cell::text(unit), change(value), Cell::count(value.samples)]
}

fn median(value: &CellValue, factor: f64) -> Cell {
    let half = value.interval.map(|interval| interval.half_width() * factor);
    let half = half.map_or_else(String::new, |half| format!(" ±{}", number::column(half)));
    let text = number::column(value.median * factor) + &half;
    let interval = value.interval.map(|interval| interval.map(|end| end * factor));
    Cell::Number { text, value: value.median * factor, interval }
}

fn change(value: &CellValue) -> Cell {
    value.change_percent.map_or(Cell::Empty, |change| {
        let text = wording::with_distances(change, value.change_interval);
        Cell::Number { text, value: change, interval: value.change_interval }
    })
}

/// Rows of the sentences with all effects; of others what was found, and of controls what each toggle did.
fn effects(found: &FactorialOutcome, told: &[&str]) -> Section {
    let is_shown =
        |row: &&FactorialRow| told.contains(&row.row.row.name.as_str()) || cells::is_claim(&row.row.row);
    let of_control = |row: &&FactorialRow| row.toggles.len() == 1 || is_shown(row);
    let shown = found.rows.iter().filter(is_shown).map(|row| (row, ""));
    let controls = found.controls.iter().filter(of_control).map(|row| (row, " (control)"));
    let mut table = Table::new(
        "effects",
        vec![
            Column::prose("effect"),
            Column::prose("on"),
            Column::number("change", "%"),
            Column::word("verdict"),
            Column::number("needs", "runs").priority(2),
            Column::number("q", "").priority(3),
        ],
    );
    table.first_rows = Some(shown.clone().count());
    for (row, mark) in shown.chain(controls) {
        let one = &row.row.row;
        table.row(vec![
            Cell::text(&row.effect),
            Cell::text(format!("{}{mark}", one.name)),
            cells::change_or_ratio(one, row.row.ratio),
            cells::verdict_of(one),
            cells::needed(one),
            cells::q_value(one.q),
        ]);
    }
    table.legend = Some(
        "of a toggle: its second value against its first, averaged over the states of the others; of several: beyond \
         what fewer of them do, multiplied; q: p over all effects"
            .to_owned(),
    );
    let section = Section::new("effects", "").with(Block::Table(table));
    let hidden = found.rows.iter().filter(|row| !is_shown(row)).count();
    let note = format!("{hidden} more on other rows, none of them beyond the margin: see --json");
    if hidden > 0 { section.saying(Tone::Faint, note) } else { section }
}

/// How it was made.
fn conditions(found: &FactorialOutcome) -> [Vec<String>; 2] {
    let counts = &found.pass_counts;
    let first = format!(
        "{} of {} through {} combinations in random order and back{}, {}; {} after {:.1} s; margin {} %",
        counts.kept,
        number::count(counts.taken, "pass"),
        found.cells.len(),
        dropped(counts),
        found.aggregate,
        match found.ended {
            Ended::PairsTaken => "all runs taken".to_owned(),
            other => ended(other, found.precision_percent),
        },
        found.elapsed_s,
        wording::percent(found.margin_percent)
    );
    let mut others = vec![format!(
        "A/A inside, the way back against the way there: {} of {} effects differed{}",
        found.aa.alarms,
        found.aa.rows.len(),
        widened(&found.aa)
    )];
    others.extend(drifted(&found.drift));
    [vec![first], others]
}

#[cfg(test)]
mod tests {
    use record::{
        Better, ComparisonRow, ExperimentRow, FACTORIAL_SCHEMA, FactorialToggle, Failures, PairCounts,
    };
    use stats::Interval;

    use super::*;
    use crate::Terminal;

    fn around(change: f64, half: f64) -> Interval {
        Interval { low: change - half, high: change + half }
    }

    fn row(effect: &str, name: &str, change_percent: f64, verdict: Verdict) -> FactorialRow {
        let row = ComparisonRow {
            name: name.to_owned(),
            group: "program".to_owned(),
            unit: "s".to_owned(),
            better: Better::Lower,
            candidate: effect.to_owned(),
            a: 0.1,
            b: 0.1,
            a_interval: None,
            b_interval: None,
            change_percent,
            interval: Some(around(change_percent, 0.4)),
            symmetric_percent: change_percent.abs(),
            verdict,
            margin_percent: 2.0,
            p: Some(0.2),
            q: Some(0.3),
            further_runs: (verdict == Verdict::Inconclusive).then_some(30),
            samples: [40, 40],
            paired: true,
            control: name == "multiply-chain",
            knowledge: stats::Knowledge::None,
        };
        let ratio = 1.0 + change_percent / 100.0;
        FactorialRow {
            effect: effect.to_owned(),
            toggles: effect.split(" x ").map(str::to_owned).collect(),
            told: name == "wall time",
            row: ExperimentRow { row, ratio, ratio_interval: None, quads: 20 },
        }
    }

    fn cell(state: &str, median: f64, change: Option<f64>) -> FactorialCell {
        let value = CellValue {
            name: "wall time".to_owned(),
            unit: "s".to_owned(),
            median,
            interval: Some(around(median, 0.002)),
            samples: 20,
            change_percent: change,
            change_interval: change.map(|change| around(change, 0.5)),
        };
        FactorialCell { state: state.to_owned(), name: format!("cell {state}"), values: vec![value] }
    }

    fn found() -> FactorialOutcome {
        let toggle = |name: &str, a: &str, b: &str| FactorialToggle {
            name: name.to_owned(),
            a: a.to_owned(),
            b: b.to_owned(),
        };
        FactorialOutcome {
            schema: FACTORIAL_SCHEMA,
            sentences: vec!["thp=on makes this program 3.1 % slower [2.7, 3.5]".to_owned()],
            toggles: vec![toggle("thp", "off", "on"), toggle("slack", "least", "default")],
            subject: "./program".to_owned(),
            cells: vec![
                cell("aa", 0.1, None),
                cell("ba", 0.103, Some(3.0)),
                cell("ab", 0.1, Some(0.1)),
                cell("bb", 0.1035, Some(3.5)),
            ],
            rows: vec![
                row("thp", "wall time", 3.1, Verdict::Slower),
                row("slack", "wall time", 0.1, Verdict::Equivalent),
                row("thp x slack", "wall time", 0.4, Verdict::Inconclusive),
                row("thp", "page faults", -9.0, Verdict::Faster),
                row("slack", "page faults", 0.0, Verdict::Equivalent),
            ],
            controls: vec![
                row("thp", "multiply-chain", 0.0, Verdict::Equivalent),
                row("thp x slack", "multiply-chain", 0.0, Verdict::Equivalent),
            ],
            aa: record::AaTwin { quads: 20, widening: 1.2, ..record::AaTwin::default() },
            passes: 38,
            pass_counts: PairCounts { taken: 40, kept: 38, ..PairCounts::default() },
            failures: vec![Failures {
                state: "bb".to_owned(),
                failed: 2,
                of: 41,
                example: "exit code 1".to_owned(),
            }],
            drift: record::SeenDrift::default(),
            ended: Ended::PairsTaken,
            margin_percent: 2.0,
            precision_percent: 1.0,
            aggregate: "each run once".to_owned(),
            notes: Vec::new(),
            tool_version: String::new(),
            started_utc: String::new(),
            seed: 1,
            elapsed_s: 61.2,
            raw: Vec::new(),
        }
    }

    #[test]
    fn sentences_combinations_and_effects_stand_in_this_order() {
        let expected = "\
thp=on makes this program 3.1 % slower [2.7, 3.5]

measured   thp  slack       median  unit  against the first, %  runs
wall time  off  least    100 ±2.00  ms                            20
wall time  on   least    103 ±2.00  ms               +3.0 ±0.5    20
wall time  off  default  100 ±2.00  ms               +0.1 ±0.5    20
wall time  on   default  104 ±2.00  ms               +3.5 ±0.5    20
";
        let text = factorial_page(&found()).terminal(Terminal::default(), true);
        assert!(text.starts_with(expected), "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        for line in [
            "thp wall time +3.1 ±0.4 slower .300",
            "thp x slack wall time +0.4 ±0.4 undetermined 30 .300",
            "thp page faults -9.0 ±0.4 faster .300",
            "thp multiply-chain (control) 0.00 ±0.4 equivalent .300",
            "1 more on other rows, none of them beyond the margin: see --json",
            "! 2 of 41 runs failed with cell bb only: exit code 1",
        ] {
            assert!(lines.iter().any(|have| have == line), "{line:?} is not in\n{text}");
        }
        // Of a control only what each toggle did.
        assert_eq!(text.matches("thp x slack").count(), 1, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
