//! A comparison for programs: one table with a line per row, memory as a whole, class of rows, and average, all digits.

use record::{ComparisonAverage, ComparisonRow, ComparisonTable};
use stats::{Interval, Knowledge, Verdict};

use crate::naming;
use crate::page::{Cell, Table};

/// The name of the table that holds a whole comparison.
pub const ID: &str = "comparison";

/// What the lines of several rows and of single ones have in common.
#[derive(Clone, Copy, Default)]
struct Line<'t> {
    kind: &'static str,
    name: &'t str,
    candidate: &'t str,
    judged: Option<(Verdict, Knowledge)>,
    change_percent: Option<f64>,
    interval: Option<Interval>,
    q: Option<f64>,
    rows: Option<usize>,
    /// What a single row has alone.
    row: Option<&'t ComparisonRow>,
    /// What an average has alone.
    average: Option<&'t ComparisonAverage>,
}

fn lines(table: &ComparisonTable) -> Vec<Line<'_>> {
    let rows = table.rows.iter().map(|row| Line {
        kind: "row",
        name: &row.name,
        candidate: &row.candidate,
        judged: Some((row.verdict, row.knowledge)),
        change_percent: Some(row.change_percent),
        interval: row.interval,
        q: row.q,
        row: Some(row),
        ..Line::default()
    });
    let memory = table.memory.iter().map(|one| Line {
        kind: "memory",
        name: "memory as a whole",
        candidate: &one.candidate,
        judged: Some((one.verdict, one.knowledge)),
        change_percent: Some(one.change_percent),
        interval: Some(one.interval),
        q: Some(one.q),
        rows: Some(one.rows),
        ..Line::default()
    });
    let classes = table.classes.iter().map(|one| Line {
        kind: "class",
        name: one.class.name(),
        candidate: &one.candidate,
        judged: Some((one.verdict, one.knowledge)),
        change_percent: Some(one.change_percent),
        interval: Some(one.interval),
        q: Some(one.q),
        rows: Some(one.rows.len()),
        ..Line::default()
    });
    let averages = table.averages.iter().map(|one| Line {
        kind: "average",
        candidate: &one.candidate,
        rows: Some(one.rows),
        average: Some(one),
        ..Line::default()
    });
    rows.chain(memory).chain(classes).chain(averages).collect()
}

/// The table, for CSV alone.
pub(super) fn table(table: &ComparisonTable) -> Table {
    let exact = |value: f64| Cell::shown("", value);
    let low = |interval: Option<Interval>| interval.map(|ends| exact(ends.low));
    let high = |interval: Option<Interval>| interval.map(|ends| exact(ends.high));
    // Lines leave empty what they do not have.
    Table::of(ID, lines(table))
        .word("kind", |one| one.kind)
        .word("name", |one| one.name)
        .word("group", |one| {
            one.row.map(|row| row.group.as_str()).or(one.average.map(|average| average.group.as_str()))
        })
        .word("unit", |one| one.row.map(|row| row.unit.as_str()))
        .word("better", |one| match (one.row, one.judged) {
            (Some(row), _) => naming::word(&row.better),
            (None, Some(_)) => "lower".to_owned(),
            (None, None) => String::new(),
        })
        .word("candidate", |one| one.candidate)
        .word("a", |one| one.row.map(|row| exact(row.a)))
        .word("a_low", |one| low(one.row.and_then(|row| row.a_interval)))
        .word("a_high", |one| high(one.row.and_then(|row| row.a_interval)))
        .word("b", |one| one.row.map(|row| exact(row.b)))
        .word("b_low", |one| low(one.row.and_then(|row| row.b_interval)))
        .word("b_high", |one| high(one.row.and_then(|row| row.b_interval)))
        .word("change_percent", |one| one.change_percent.map(exact))
        .word("change_low", |one| low(one.interval))
        .word("change_high", |one| high(one.interval))
        .word("symmetric_percent", |one| {
            one.row
                .map(|row| row.symmetric_percent)
                .or(one.average.map(|one| one.symmetric_percent))
                .map(exact)
        })
        .word("verdict", |one| one.judged.map(|(verdict, _)| verdict.name()))
        .word("margin_percent", |one| one.row.map(|row| exact(row.margin_percent)))
        .word("p", |one| one.row.and_then(|row| row.p).map(exact))
        .word("q", |one| one.q.map(exact))
        .word("further_runs", |one| one.row.and_then(|row| row.further_runs))
        .word("samples_a", |one| one.row.map(|row| row.samples[0]))
        .word("samples_b", |one| one.row.map(|row| row.samples[1]))
        .word("paired", |one| one.row.map(|row| row.paired.to_string()))
        .word("control", |one| one.row.map(|row| row.control.to_string()))
        .word("rows", |one| one.rows)
        .word("floor_percent", |one| one.average.and_then(|one| one.floor_percent).map(exact))
        .word("geometric_percent", |one| one.average.map(|one| exact(one.geometric_percent)))
        .word("geometric_low", |one| low(one.average.and_then(|one| one.geometric_interval)))
        .word("geometric_high", |one| high(one.average.and_then(|one| one.geometric_interval)))
        .word("knowledge", |one| one.judged.map(|(_, knowledge)| knowledge.name()))
        .data()
}
