//! Matrices of CPUs: line transfer by protocol, and slowdown by shared resource.

use std::collections::BTreeSet;

use machine::CpuId;
use record::{LineTransfer, Record, Spread};

use super::Figure;
use crate::draw::{Colours, MatrixCell, MatrixChart, MatrixPanel, Measure};
use crate::naming;
use crate::page::{Drawn, Table};

/// One measured pair of any kind: two CPUs, the kind, the value.
type Pair<'r> = (CpuId, CpuId, &'r str, f64, &'r Spread);

/// A line between CPUs; `name` makes it one of its own in the page.
pub(crate) fn line_transfer(transfers: &[LineTransfer], name: &str) -> Option<Drawn> {
    let pairs: Vec<Pair<'_>> =
        transfers.iter().map(|p| (p.a, p.b, p.protocol.as_str(), p.ns, &p.spread)).collect();
    let chart = MatrixChart {
        row_label: "CPU",
        column_label: "CPU",
        unit: " ns",
        panels: panels(&pairs, true),
        ..MatrixChart::default()
    };
    let reading = "One way of a bounced cache line, half of a round trip. The two protocols measure different things: \
                   compare-and-swap spins on exclusive ownership, read-then-write shares the line first. Never compare \
                   numbers of one with numbers of the other.";
    Drawn::of(&chart, name, reading, Table::default())
}

pub(super) fn sharing(record: &Record) -> Option<Drawn> {
    let pairs = record.cores.sharing.iter();
    let pairs: Vec<Pair<'_>> =
        pairs.map(|p| (p.a, p.b, p.resource.as_str(), p.slowdown, &p.spread)).collect();
    let chart = MatrixChart {
        row_label: "slowed CPU",
        column_label: "CPU beside it",
        unit: "x",
        colours: Colours::Size { least: Some(1.0) },
        panels_per_row: 3,
        panels: panels(&pairs, false),
        ..MatrixChart::default()
    };
    let reading = "Time of a loop while the other CPU runs the same, over its time alone: 1 is nothing shared, 2 is \
                   all of it. CPUs that slow each other in integer and front end are threads of one core, whatever \
                   the machine says.";
    Drawn::of(&chart, Figure::Sharing.name(), reading, Table::default())
}

/// The rows and columns of a matrix of CPUs, ascending.
pub(super) struct Axis(Vec<CpuId>);

impl Axis {
    pub(super) fn of(cpus: impl Iterator<Item = CpuId>) -> Self {
        Self(cpus.collect::<BTreeSet<_>>().into_iter().collect())
    }

    pub(super) fn place(&self, cpu: CpuId) -> usize {
        self.0.binary_search(&cpu).unwrap_or_default()
    }

    /// A matrix of these CPUs by themselves.
    pub(super) fn panel(&self, title: impl Into<String>, cells: Vec<MatrixCell>) -> MatrixPanel {
        let names: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        MatrixPanel { title: title.into(), rows: names.clone(), columns: names, cells }
    }
}

/// One panel per kind. `mirrored` pairs were measured once and hold in both directions.
fn panels(pairs: &[Pair<'_>], mirrored: bool) -> Vec<MatrixPanel> {
    let axis = Axis::of(pairs.iter().flat_map(|pair| [pair.0, pair.1]));
    let panel = |kind: &str| {
        let mut cells = Vec::new();
        for (a, b, _, value, spread) in pairs.iter().filter(|pair| pair.2 == kind) {
            let (row, column) = (axis.place(*a), axis.place(*b));
            let measure = Measure::of(*value, spread, |value| value);
            if mirrored && row != column {
                cells.push(MatrixCell { row: column, column: row, measure: measure.clone() });
            }
            cells.push(MatrixCell { row, column, measure });
        }
        axis.panel(naming::words(kind), cells)
    };
    naming::distinct(pairs.iter().map(|pair| pair.2)).into_iter().map(panel).collect()
}
