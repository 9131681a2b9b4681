//! The tests of a comparison, largest changes first: two configurations side by side, or a column for each of several.

use std::cmp::Reverse;

use record::{ComparisonRow, ComparisonTable};

use super::{candidates, wording};
use crate::comparison::cells;
use crate::page::{Cell, Column, Table};

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

fn side(value: f64, interval: Option<stats::Interval>) -> Cell {
    Cell::Number { text: wording::value(value, interval), value, interval }
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
    let columns = vec![
        Column::prose("test"),
        Column::number(a, "").priority(1),
        Column::number(b, "").priority(1),
        Column::word("unit").priority(2),
        Column::number("change", "%"),
        Column::word("verdict"),
        Column::number("q", "").priority(3),
        Column::word("better").priority(3),
        Column::word("group").priority(4),
    ];
    let mut rows: Vec<&ComparisonRow> = table.rows.iter().collect();
    rows.sort_by_key(|row| weight(&[row]));
    // Where no row has an interval, the answer says so once.
    let is_judged = rows.iter().any(|row| row.interval.is_some());
    let mut tests = Table::new("tests", columns);
    for row in rows {
        tests.row(vec![
            Cell::text(wording::test_name(&row.name)),
            side(row.a, row.a_interval),
            side(row.b, row.b_interval),
            Cell::text(&row.unit),
            cells::change(row),
            if is_judged { cells::verdict_of(row) } else { Cell::Empty },
            cells::q_value(row.q),
            // A verdict says it as well.
            Cell::text(if is_judged { "" } else { wording::better(row.better) }),
            Cell::text(&row.group),
        ]);
    }
    tests
}

fn of_several(table: &ComparisonTable) -> Table {
    let baseline = super::baseline(table).to_owned();
    let mut columns = vec![
        Column::prose("test"),
        Column::number(baseline, "").priority(1),
        Column::word("unit").priority(2),
    ];
    columns.extend(candidates(table).map(|(_, name)| Column::number(name.to_owned(), "%")));
    columns.push(Column::word("group").priority(3));
    let mut by_test: Vec<Vec<&ComparisonRow>> = Vec::new();
    for row in &table.rows {
        match by_test.iter_mut().find(|rows| rows[0].name == row.name && rows[0].group == row.group) {
            Some(rows) => rows.push(row),
            None => by_test.push(vec![row]),
        }
    }
    by_test.sort_by_key(|rows| weight(rows));
    let mut tests = Table::new("tests", columns);
    for rows in by_test {
        let first = rows[0];
        let mut cells = vec![
            Cell::text(wording::test_name(&first.name)),
            side(first.a, first.a_interval),
            Cell::text(&first.unit),
        ];
        cells.extend(candidates(table).map(|(_, name)| {
            let row = rows.iter().find(|row| row.candidate == name);
            row.map_or(Cell::Empty, |row| change_and_verdict(row))
        }));
        cells.push(Cell::text(&first.group));
        tests.row(cells);
    }
    tests
}

/// `+6.1 ±0.2 slower`.
fn change_and_verdict(row: &ComparisonRow) -> Cell {
    let change = wording::with_distances(row.change_percent, row.interval);
    let text = match row.interval {
        Some(_) => format!("{change} {}", wording::shown_verdict(row.verdict)),
        None => change,
    };
    Cell::Number { text, value: row.change_percent, interval: row.interval }
}
