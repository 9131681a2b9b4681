//! A comparison for programs: one table with a line per row, memory as a whole, class of rows, and average, all digits.

use record::ComparisonTable;
use stats::{Interval, Knowledge, Verdict};

use super::wording;
use crate::page::{Cell, Column, Table};

/// The name of the table that holds a whole comparison.
pub const ID: &str = "comparison";

/// The columns; lines leave empty what they do not have.
const COLUMNS: [&str; 31] = [
    "kind",
    "name",
    "group",
    "unit",
    "better",
    "candidate",
    "a",
    "a_low",
    "a_high",
    "b",
    "b_low",
    "b_high",
    "change_percent",
    "change_low",
    "change_high",
    "symmetric_percent",
    "verdict",
    "margin_percent",
    "p",
    "q",
    "further_runs",
    "samples_a",
    "samples_b",
    "paired",
    "control",
    "rows",
    "floor_percent",
    "geometric_percent",
    "geometric_low",
    "geometric_high",
    "knowledge",
];

/// A line in the making.
struct Line(Vec<Cell>);

impl Line {
    fn of(kind: &str) -> Self {
        Self(vec![Cell::Empty; COLUMNS.len()]).text("kind", kind)
    }

    fn put(mut self, column: &str, cell: Cell) -> Self {
        let place = COLUMNS.iter().position(|name| *name == column);
        self.0[place.expect("a column of the table")] = cell;
        self
    }

    fn text(self, column: &str, text: &str) -> Self {
        self.put(column, Cell::text(text))
    }

    fn number(self, column: &str, value: impl Into<Option<f64>>) -> Self {
        self.put(column, value.into().map_or(Cell::Empty, |value| Cell::shown("", value)))
    }

    fn ends(self, of: &str, interval: Option<Interval>) -> Self {
        self.number(&format!("{of}_low"), interval.map(|ends| ends.low))
            .number(&format!("{of}_high"), interval.map(|ends| ends.high))
    }

    /// What several rows share: a change of cost.
    fn shared(self, name: &str, change_percent: f64, interval: Interval, q: f64) -> Self {
        let line = self.text("name", name).text("better", "lower").number("change_percent", change_percent);
        line.ends("change", Some(interval)).number("q", q)
    }

    fn judged(self, candidate: &str, verdict: Verdict, knowledge: Knowledge) -> Self {
        let word = if knowledge == Knowledge::None { "none" } else { wording::knowledge(knowledge) };
        self.text("candidate", candidate)
            .text("verdict", wording::verdict_word(verdict))
            .text("knowledge", word)
    }
}

/// The table, for CSV alone.
pub(super) fn table(table: &ComparisonTable) -> Table {
    let rows = table.rows.iter().map(|row| {
        let line = Line::of("row").judged(&row.candidate, row.verdict, row.knowledge);
        line.text("name", &row.name)
            .text("group", &row.group)
            .text("unit", &row.unit)
            .text("better", wording::better(row.better))
            .number("a", row.a)
            .ends("a", row.a_interval)
            .number("b", row.b)
            .ends("b", row.b_interval)
            .number("change_percent", row.change_percent)
            .ends("change", row.interval)
            .number("symmetric_percent", row.symmetric_percent)
            .number("margin_percent", row.margin_percent)
            .number("p", row.p)
            .number("q", row.q)
            .number("further_runs", row.further_runs.map(|runs| runs as f64))
            .number("samples_a", row.samples[0] as f64)
            .number("samples_b", row.samples[1] as f64)
            .text("paired", &row.paired.to_string())
            .text("control", &row.control.to_string())
    });
    let memory = table.memory.iter().map(|one| {
        let line = Line::of("memory").judged(&one.candidate, one.verdict, one.knowledge);
        line.shared("memory as a whole", one.change_percent, one.interval, one.q)
            .number("rows", one.rows as f64)
    });
    let classes = table.classes.iter().map(|one| {
        let line = Line::of("class").judged(&one.candidate, one.verdict, one.knowledge);
        line.shared(one.class.name(), one.change_percent, one.interval, one.q)
            .number("rows", one.rows.len() as f64)
    });
    let averages = table.averages.iter().map(|one| {
        let line = Line::of("average").text("group", &one.group).text("candidate", &one.candidate);
        line.number("symmetric_percent", one.symmetric_percent)
            .number("rows", one.rows as f64)
            .number("floor_percent", one.floor_percent)
            .number("geometric_percent", one.geometric_percent)
            .ends("geometric", one.geometric_interval)
    });
    let mut data = Table { is_data: true, ..Table::new(ID, COLUMNS.map(Column::word).to_vec()) };
    rows.chain(memory).chain(classes).chain(averages).for_each(|line| data.row(line.0));
    data
}
