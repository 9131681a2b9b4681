//! The tests of a comparison, largest changes first: two configurations side by side, or a column for each of several.

use std::cmp::Reverse;

use record::{ComparisonRow, ComparisonTable};
use stats::{Interval, text};

use super::{candidates, test_name};
use crate::naming;
use crate::page::{Cell, Table};
use crate::view::cells;

/// Tests on a first screen, and as many where none is called slower or faster.
const TESTS_FIRST: usize = 8;
const UNCLAIMED_FIRST: usize = 2;
/// Longer names of configurations do not stand above a column of numbers.
const NAME_CHARACTERS: usize = 12;

/// The table.
pub(super) fn table(table: &ComparisonTable) -> Table {
    let shown = if table.configurations.len() == 2 { of_pair(table) } else { of_several(table) };
    let has_claim = table.rows.iter().any(cells::is_claim);
    Table { first_rows: Some(if has_claim { TESTS_FIRST } else { UNCLAIMED_FIRST }), ..shown }
}

fn side(value: f64, interval: Option<Interval>) -> Cell {
    Cell::within(text::value(value, interval), value, interval)
}

/// Of claims the largest first, then all others in the order of the document.
fn weight(rows: &[&ComparisonRow]) -> Reverse<u64> {
    let claims = rows.iter().filter(|row| cells::is_claim(row)).map(|row| row.symmetric_percent);
    // The order of positive numbers is that of their bits.
    Reverse(claims.fold(0.0, f64::max).to_bits())
}

/// What the columns of values are called.
fn titles(table: &ComparisonTable) -> [String; 2] {
    let candidate = 1 - table.baseline.min(1);
    let names = [table.baseline, candidate].map(|index| table.configurations[index].name.clone());
    if names.iter().all(|name| name.chars().count() <= NAME_CHARACTERS) {
        names
    } else {
        ["baseline", "candidate"].map(str::to_owned)
    }
}

fn of_pair(table: &ComparisonTable) -> Table {
    let [a, b] = titles(table);
    let mut rows: Vec<&ComparisonRow> = table.rows.iter().collect();
    rows.sort_by_key(|row| weight(&[row]));
    // Where no row has an interval, the answer says so once; a verdict says which way is better as well.
    let is_judged = rows.iter().any(|row| row.interval.is_some());
    Table::of("tests", rows)
        .prose("test", |row| test_name(&row.name))
        .number((a, 1), |row| side(row.a, row.a_interval))
        .number((b, 1), |row| side(row.b, row.b_interval))
        .word(("unit", 2), |row| &row.unit)
        .number(("change", "%"), |row| cells::change(row))
        .word("verdict", |row| is_judged.then(|| cells::verdict_of(row)))
        .number(("q", 3), |row| Cell::q(row.q))
        .word(("better", 3), |row| (!is_judged).then(|| naming::word(&row.better)))
        .word(("group", 4), |row| &row.group)
        .table()
}

fn of_several(table: &ComparisonTable) -> Table {
    let mut by_test = naming::grouped(table.rows.iter().map(|row| ((&row.name, &row.group), row)));
    by_test.sort_by_key(|(_, rows)| weight(rows));
    let rows = Table::of("tests", by_test)
        .prose("test", |(_, rows)| test_name(&rows[0].name))
        .number((super::baseline(table).to_owned(), 1), |(_, rows)| side(rows[0].a, rows[0].a_interval))
        .word(("unit", 2), |(_, rows)| &rows[0].unit);
    let columns = candidates(table).fold(rows, |rows, (_, name)| {
        rows.number((name.to_owned(), "%"), |(_, rows)| {
            rows.iter().find(|row| row.candidate == name).map(|row| change_and_verdict(row))
        })
    });
    columns.word(("group", 3), |(_, rows)| &rows[0].group).table()
}

/// `+6.1 ±0.2 slower`.
fn change_and_verdict(row: &ComparisonRow) -> Cell {
    let change = text::with_distances(row.change_percent, row.interval);
    let verdict = row.interval.map_or("", |_| row.verdict.word());
    Cell::within(format!("{change} {verdict}"), row.change_percent, row.interval)
}
