//! A factorial experiment in the terminal: its sentences, all combinations, the effects, what makes them believable.

use record::{CellValue, Ended, FactorialOutcome, FactorialRow, Failures};
use stats::Verdict;

use super::experiment::{drifted, dropped, ended, widened};
use super::wording;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// The name of a toggle or value takes at most this many columns in the table of combinations.
const NAME_COLUMNS: usize = 16;

/// The factorial experiment for people.
pub fn factorial_terminal(found: &FactorialOutcome, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    if found.aa.contaminated {
        paper.wrapped_inked(
            Ink::Warning,
            "",
            "NOT TO BE BELIEVED: more effects differed from themselves than chance explains",
        );
    }
    for sentence in &found.sentences {
        paper.wrapped_inked(Ink::Strong, "", &plain(sentence));
    }
    paper.blank();
    // The sentence has said it all.
    let failing = found.ended == Ended::Failing;
    if !found.rows.is_empty() && !failing {
        for name in told_names(found) {
            combinations(&mut paper, found, name);
            paper.blank();
        }
        effects(&mut paper, found);
        paper.blank();
    }
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

/// The rows that a sentence tells, in their order.
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

/// What one row was in each combination.
fn combinations(paper: &mut Paper, found: &FactorialOutcome, name: &str) {
    let value_of = |values: &[CellValue]| values.iter().find(|value| value.name == name).cloned();
    let all: Vec<Option<CellValue>> = found.cells.iter().map(|cell| value_of(&cell.values)).collect();
    let largest = all.iter().flatten().map(|value| value.median).fold(0.0, f64::max);
    let unit = all.iter().flatten().next().map_or("", |value| value.unit.as_str());
    // Short runs are told in milliseconds.
    let (factor, unit) = if unit == "s" && largest < 1.0 { (1000.0, "ms") } else { (1.0, unit) };
    let heads = found.toggles.iter().map(|toggle| short(&toggle.name));
    let headers: Vec<String> =
        heads.chain([plain(name), String::new(), String::new(), "change %".into(), "runs".into()]).collect();
    let mut table = table_of(&headers);
    for (cell, value) in found.cells.iter().zip(&all) {
        let letters = cell.state.chars().zip(&found.toggles);
        let states = letters.map(|(letter, toggle)| if letter == 'a' { &toggle.a } else { &toggle.b });
        let mut line: Vec<String> = states.map(|state| short(state)).collect();
        if let Some(value) = value {
            let half = value.interval.map(|interval| interval.half_width() * factor);
            line.push(number::column(value.median * factor));
            line.push(half.map_or_else(String::new, |half| format!("±{}", number::column(half))));
            line.push(plain(unit));
            line.push(
                value.change_percent.map_or_else(String::new, |change| {
                    wording::with_distances(change, value.change_interval)
                }),
            );
            line.push(value.samples.to_string());
        }
        table.add_row(line);
    }
    for index in (0..found.toggles.len()).chain([found.toggles.len() + 2]) {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    paper.table(table);
    paper.faint("medians; change against the first line");
}

fn short(name: &str) -> String {
    plain(name).chars().take(NAME_COLUMNS).collect()
}

/// Told rows with all effects; of others what has been found, and of controls what each toggle did.
fn effects(paper: &mut Paper, found: &FactorialOutcome) {
    let mut table = table_of(&["", "change %", "q", "verdict"].map(str::to_owned));
    let told = told_names(found);
    let is_shown = |row: &&FactorialRow| {
        told.contains(&row.row.row.name.as_str())
            || matches!(row.row.row.verdict, Verdict::Slower | Verdict::Faster)
    };
    let of_control = |row: &&FactorialRow| row.toggles.len() == 1 || is_shown(row);
    let shown = found.rows.iter().filter(is_shown).map(|row| (row, ""));
    let controls = found.controls.iter().filter(of_control).map(|row| (row, " (control)"));
    let mut group = "";
    for (row, mark) in shown.chain(controls) {
        let one = &row.row.row;
        if group != one.name {
            group = &one.name;
            table.add_row([format!("{}{mark}", plain(group))]);
        }
        let times =
            if row.row.ratio >= 2.0 { format!("{:.2}x", row.row.ratio) } else { wording::change(one) };
        table.add_row([
            format!(" {}", plain(&row.effect)),
            times,
            wording::q_value(one.q),
            wording::verdict_short(one),
        ]);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "of a toggle: its second value against its first, averaged over the states of the others; of several: beyond \
         what fewer of them do, multiplied; q: p over all effects",
    );
    let hidden = found.rows.iter().filter(|row| !is_shown(row)).count();
    if hidden > 0 {
        paper.wrapped_inked(
            Ink::Faint,
            "",
            &format!("on other rows {hidden} more, none of them known to pass the margin: see --json"),
        );
    }
}

/// How it was made.
fn conditions(found: &FactorialOutcome) -> Vec<String> {
    let counts = &found.pass_counts;
    let combinations = found.cells.len();
    let mut lines = vec![format!(
        "{} of {} passes through {combinations} combinations in random order and back{}, {}; {} after {:.1} s; margin \
         {} %",
        counts.kept,
        counts.taken,
        dropped(counts),
        found.aggregate,
        match found.ended {
            Ended::PairsTaken => "all runs taken".to_owned(),
            other => ended(other, found.precision_percent),
        },
        found.elapsed_s,
        wording::percent(found.margin_percent)
    )];
    lines.push(format!(
        "A/A inside, the way back against the way there: {} of {} effects differed{}",
        found.aa.alarms,
        found.aa.rows.len(),
        widened(&found.aa)
    ));
    lines.extend(drifted(&found.drift));
    lines
}

fn failure(failures: &Failures, found: &FactorialOutcome) -> String {
    let cell = found.cells.iter().find(|cell| cell.state == failures.state);
    let name = cell.map_or(failures.state.as_str(), |cell| cell.name.as_str());
    let only = if found.failures.len() == 1 { " only" } else { "" };
    format!(
        "{} of {} failed with {name}{only}: {}",
        failures.failed,
        machine::counted(failures.of, "run"),
        failures.example
    )
}

#[cfg(test)]
mod tests {
    use record::{
        Better, CellValue, ComparisonRow, ExperimentRow, FACTORIAL_SCHEMA, FactorialCell, FactorialToggle,
        PairCounts,
    };
    use stats::Interval;

    use super::*;

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

thp  slack    wall time              change %  runs
off  least          100  ±2.00  ms               20
on   least          103  ±2.00  ms  +3.0 ±0.5    20
off  default        100  ±2.00  ms  +0.1 ±0.5    20
on   default        104  ±2.00  ms  +3.5 ±0.5    20
medians; change against the first line
";
        let text = factorial_terminal(&found(), Terminal::default());
        assert!(text.starts_with(expected), "{text}");
        for line in [
            " thp                      +3.1 ±0.4  .300      slower",
            " thp x slack              +0.4 ±0.4  .300   ? 30 runs",
            "page faults",
            "multiply-chain (control)",
            "on other rows 1 more, none of them known to pass the margin: see --json",
            "! 2 of 41 runs failed with cell bb only: exit code 1",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
        // Of a control only what each toggle did.
        assert_eq!(text.matches("thp x slack").count(), 1, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
