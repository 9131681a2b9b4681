//! Measured values as cells, and tables of the largest of them: what pages of check-ups and of sockets share.

use record::{LineTransfer, Spread};
use stats::Order;

use crate::naming;
use crate::number::{self, finite};
use crate::page::{Cell, Rows, Table};

/// Of more rows than this those with the largest numbers are shown; the CSV has all.
const ROWS_MAX: usize = 64;

/// A measured value with its doubts, its uncertainty and its interval.
pub(super) fn measured(value: f64, spread: &Spread) -> Cell {
    Cell::within(number::measured(value, spread), value, spread.interval)
}

/// The same in the unit that `scale` makes of the record's, in little room: the wider side of the interval stands for both.
pub(super) fn margined(value: f64, spread: &Spread, scale: fn(f64) -> f64) -> Cell {
    let (value, interval) = (scale(value), spread.interval.map(scale));
    let mark = number::quality_mark(spread.quality);
    let text = format!("{}{mark} {}", number::column(value), number::plus_minus(value, interval));
    Cell::within(text, value, interval)
}

/// A table of the rows with the largest numbers, and what it means.
pub(super) fn largest<'r, R>(
    id: &'static str,
    rows: &'r [R],
    value: fn(&R) -> f64,
    legend: &str,
    columns: impl Fn(Rows<&'r R>) -> Rows<&'r R>,
) -> Table {
    let mut shown: Vec<&R> = rows.iter().filter(|row| finite(value(row)).is_some()).collect();
    let all = shown.len();
    let mut legend = legend.to_owned();
    if all > ROWS_MAX {
        shown.order_by(|a, b| value(b).total_cmp(&value(a)));
        shown.truncate(ROWS_MAX);
        legend = format!("{legend} The {ROWS_MAX} largest of {all}; all: sidestep show --csv RECORD");
    }
    columns(Table::of(id, shown)).legend(legend)
}

/// Moving a cache line.
pub(super) fn lines(transfers: &[LineTransfer]) -> Table {
    largest(
        "line_transfer",
        transfers,
        |pair| pair.ns,
        "Half of a round trip.",
        |rows| {
            rows.word("CPUs", |pair| format!("{} and {}", pair.a, pair.b))
                .word("by", |pair| naming::words(&pair.protocol))
                .number(("one way", "ns"), |pair| measured(pair.ns, &pair.spread))
        },
    )
}
