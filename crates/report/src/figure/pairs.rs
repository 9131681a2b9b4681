//! Matrices of CPUs: line transfer by protocol, and slowdown by shared resource.

use std::collections::BTreeSet;

use machine::CpuId;
use record::{LineTransfer, Quality, Record, Spread};

use super::{Drawn, Figure};
use crate::draw::{MatrixCell, MatrixChart, MatrixPanel};
use crate::naming;
use crate::view::check_up;

/// One measured pair of any kind.
struct Pair<'r> {
    a: CpuId,
    b: CpuId,
    kind: &'r str,
    value: f64,
    spread: &'r Spread,
}

/// A line between CPUs; `name` makes it one of its own in the page.
pub(crate) fn line_transfer(transfers: &[LineTransfer], name: &str) -> Option<Drawn> {
    let pairs: Vec<Pair<'_>> = transfers
        .iter()
        .map(|p| Pair { a: p.a, b: p.b, kind: &p.protocol, value: p.ns, spread: &p.spread })
        .collect();
    let chart = MatrixChart {
        row_label: "CPU",
        column_label: "CPU",
        unit: " ns",
        logarithmic: false,
        least: None,
        panels_per_row: 2,
        square: true,
        panels: panels(&pairs, true),
    };
    let reading = "One way of a bounced cache line, half of a round trip. The two protocols measure different things: \
                   compare-and-swap spins on exclusive ownership, read-then-write shares the line first. Never compare \
                   numbers of one with numbers of the other.";
    Drawn::of_matrices(&chart, name, reading, check_up::lines(transfers).into())
}

pub(super) fn sharing(record: &Record) -> Option<Drawn> {
    let pairs: Vec<Pair<'_>> = record
        .cores
        .sharing
        .iter()
        .map(|p| Pair { a: p.a, b: p.b, kind: &p.resource, value: p.slowdown, spread: &p.spread })
        .collect();
    let chart = MatrixChart {
        row_label: "slowed CPU",
        column_label: "CPU beside it",
        unit: "x",
        logarithmic: false,
        least: Some(1.0),
        panels_per_row: 3,
        square: true,
        panels: panels(&pairs, false),
    };
    let reading = "Time of a loop while the other CPU runs the same, over its time alone: 1 is nothing shared, 2 is \
                   all of it. CPUs that slow each other in integer and front end are threads of one core, whatever \
                   the machine says.";
    Drawn::of_matrices(&chart, Figure::Sharing.name(), reading, check_up::sharing(record).into())
}

fn kinds<'r>(pairs: &[Pair<'r>]) -> Vec<&'r str> {
    let mut kinds: Vec<&str> = Vec::new();
    for pair in pairs {
        if !kinds.contains(&pair.kind) {
            kinds.push(pair.kind);
        }
    }
    kinds
}

/// The rows and columns of a matrix of CPUs, ascending.
pub(super) struct Seats(Vec<CpuId>);

impl Seats {
    pub(super) fn of(cpus: impl Iterator<Item = CpuId>) -> Self {
        Self(cpus.collect::<BTreeSet<_>>().into_iter().collect())
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    pub(super) fn place(&self, cpu: CpuId) -> usize {
        self.0.binary_search(&cpu).unwrap_or_default()
    }
}

/// One panel per kind. `mirrored` pairs were measured once and hold in both directions.
fn panels(pairs: &[Pair<'_>], mirrored: bool) -> Vec<MatrixPanel> {
    let seats = Seats::of(pairs.iter().flat_map(|pair| [pair.a, pair.b]));
    kinds(pairs)
        .into_iter()
        .map(|kind| {
            let mut cells = Vec::new();
            for pair in pairs.iter().filter(|pair| pair.kind == kind) {
                let (row, column) = (seats.place(pair.a), seats.place(pair.b));
                let doubtful = pair.spread.quality != Quality::Converged;
                cells.push(MatrixCell { row, column, value: pair.value, doubtful });
                if mirrored && row != column {
                    cells.push(MatrixCell { row: column, column: row, value: pair.value, doubtful });
                }
            }
            MatrixPanel { title: naming::words(kind), rows: seats.names(), columns: seats.names(), cells }
        })
        .collect()
}
