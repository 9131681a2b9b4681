//! A factorial experiment: its effects in sentences, all combinations, the effects as a table, what makes them believable.

use record::{CellValue, Ended, FactorialOutcome, FactorialRow};
use stats::Verdict;
use stats::text::{points, with_distances};

use super::experiment::{about, answer_tone, drifted, dropped, ended, failure, method, widened};
use super::judged;
use crate::page::{Cell, Page, Section, Statement, Table};
use crate::{naming, number};

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
            sections.push(Section::new("combinations", "").table(combinations(found, &names)));
            sections.push(effects(found, &names));
        }
        let failures = found.failures.iter().map(|one| {
            let cell = found.cells.iter().find(|cell| cell.state == one.state);
            failure(one, cell.map_or(&one.state, |cell| &cell.name), found.failures.len())
        });
        sections.extend(method(conditions(found), failures, &found.notes));
    }
    Page {
        answer: Statement::new(answer_tone(&verdicts, found.aa.contaminated), answer),
        because: sentences.map(Statement::plain).collect(),
        sections,
        about: about(found.seed, &found.tool_version, &found.started_utc),
        ..Page::default()
    }
}

/// The rows that a sentence is about, in their order.
fn told_names(found: &FactorialOutcome) -> Vec<&str> {
    naming::distinct(found.rows.iter().filter(|row| row.told).map(|row| row.row.row.name.as_str()))
}

/// What the rows of the sentences were in each combination. Short runs are shown in milliseconds.
fn combinations(found: &FactorialOutcome, names: &[&str]) -> Table {
    let rows = names.iter().flat_map(|name| {
        let values =
            found.cells.iter().map(|cell| (cell, cell.values.iter().find(|value| value.name == *name)));
        let largest = values.clone().filter_map(|(_, value)| Some(value?.median)).fold(0.0, f64::max);
        values.map(move |(cell, value)| (*name, cell, value, largest))
    });
    let is_short = |value: &CellValue, largest: f64| value.unit == "s" && largest < 1.0;
    let rows = Table::of("combinations", rows).prose(("measured", 1), |(name, ..)| *name);
    let states = found.toggles.iter().enumerate().fold(rows, |rows, (place, toggle)| {
        rows.word(toggle.name.clone(), |(_, cell, ..)| {
            let letter = cell.state.chars().nth(place)?;
            Some(if letter == 'a' { toggle.a.as_str() } else { &toggle.b })
        })
    });
    states
        .number("median", |(_, _, value, largest)| {
            value.map(|value| median(value, if is_short(value, *largest) { 1000.0 } else { 1.0 }))
        })
        .word("unit", |(_, _, value, largest)| {
            value.map(|value| if is_short(value, *largest) { "ms" } else { value.unit.as_str() })
        })
        .number(("against the first", "%"), |(_, _, value, _)| value.and_then(change))
        .number(("runs", 1), |(_, _, value, _)| value.map(|value| value.samples))
        .table()
}

fn median(value: &CellValue, factor: f64) -> Cell {
    let half = value.interval.map(|interval| interval.half_width() * factor);
    let half = half.map_or_else(String::new, |half| format!(" ±{}", number::column(half)));
    let text = number::column(value.median * factor) + &half;
    Cell::within(text, value.median * factor, value.interval.map(|ends| ends.map(|end| end * factor)))
}

fn change(value: &CellValue) -> Option<Cell> {
    let change = value.change_percent?;
    Some(Cell::within(with_distances(change, value.change_interval), change, value.change_interval))
}

/// Rows of the sentences with all effects; of others what was found, and of controls what each toggle did.
fn effects(found: &FactorialOutcome, told: &[&str]) -> Section {
    let is_shown =
        |row: &&FactorialRow| told.contains(&row.row.row.name.as_str()) || judged::is_claim(&row.row.row);
    let of_control = |row: &&FactorialRow| row.toggles.len() == 1 || is_shown(row);
    let shown = found.rows.iter().filter(is_shown).map(|row| (row, ""));
    let controls = found.controls.iter().filter(of_control).map(|row| (row, " (control)"));
    let count = shown.clone().count();
    let table = Table::of("effects", shown.chain(controls))
        .prose("effect", |(row, _)| &row.effect)
        .prose("on", |(row, mark)| format!("{}{mark}", row.row.row.name))
        .number(("change", "%"), |(row, _)| judged::change_or_ratio(&row.row.row, row.row.ratio))
        .word("verdict", |(row, _)| judged::verdict_of(&row.row.row))
        .number(("needs", "runs", 2), |(row, _)| judged::needed(&row.row.row))
        .number(("q", 3), |(row, _)| Cell::q(row.row.row.q))
        .first(count)
        .legend(
            "of a toggle: its second value against its first, averaged over the states of the others; of several: beyond \
             what fewer of them do, multiplied; q: p over all effects",
        );
    let hidden = found.rows.len() - count;
    let note = format!("{hidden} more on other rows, none of them beyond the margin: see --json");
    Section::new("effects", "").table(table).stating((hidden > 0).then(|| Statement::faint(note)))
}

/// How it was made.
fn conditions(found: &FactorialOutcome) -> [Vec<String>; 2] {
    let counts = &found.pass_counts;
    let ended = match found.ended {
        Ended::PairsTaken => "all runs taken".to_owned(),
        other => ended(other, found.precision_percent),
    };
    let (passes, cells) = (number::count(counts.taken, "pass"), found.cells.len());
    let first = format!(
        "{} of {passes} through {cells} combinations in random order and back{}, {}; {ended} after {:.1} s; margin {} %",
        counts.kept,
        dropped(counts),
        found.aggregate,
        found.elapsed_s,
        points(found.margin_percent)
    );
    let (aa, rows) = (&found.aa, found.aa.rows.len());
    let twin = format!(
        "A/A inside, the way back against the way there: {} of {rows} effects differed{}",
        aa.alarms,
        widened(aa)
    );
    [vec![first], [twin].into_iter().chain(drifted(&found.drift)).collect()]
}

#[cfg(test)]
mod tests {
    use record::{
        Better, ComparisonRow, ExperimentRow, FACTORIAL_SCHEMA, FactorialCell, FactorialToggle, Failures,
        PairCounts,
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
