//! Pairs of CPUs: line transfer by protocol, slowdown by shared resource, and counters over time.

use std::collections::BTreeSet;

use machine::CpuId;
use record::{ClockPair, Spread};
use stats::{Interval, Order};

use super::Source;
use crate::draw::{
    LineChart, LinePanel, LinePoint, LineSeries, MatrixCell, MatrixChart, MatrixPanel, Measure,
};
use crate::naming;
use crate::page::Drawn;

/// More curves than this are not distinguishable.
const MOST_CURVES: usize = 6;
/// Points of one curve in the picture; more are thinned.
const MOST_POINTS: usize = 240;

/// One measured pair of any kind: two CPUs, the kind, the value.
type Pair<'r> = (CpuId, CpuId, &'r str, f64, &'r Spread);

/// A line between CPUs.
pub(super) fn lines((record, _): Source<'_>, name: &str) -> Option<Drawn> {
    let pairs = record.cores.line_transfer.iter();
    let pairs: Vec<Pair<'_>> = pairs.map(|p| (p.a, p.b, p.protocol.as_str(), p.ns, &p.spread)).collect();
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
    Drawn::of(&chart, name, reading)
}

pub(super) fn sharing((record, _): Source<'_>, name: &str) -> Option<Drawn> {
    let pairs = record.cores.sharing.iter();
    let pairs: Vec<Pair<'_>> =
        pairs.map(|p| (p.a, p.b, p.resource.as_str(), p.slowdown, &p.spread)).collect();
    let chart = MatrixChart {
        row_label: "slowed CPU",
        column_label: "CPU beside it",
        unit: "x",
        least: Some(1.0),
        panels_per_row: 3,
        panels: panels(&pairs, false),
        ..MatrixChart::default()
    };
    let reading = "Time of a loop while the other CPU runs the same, over its time alone: 1 is nothing shared, 2 is \
                   all of it. CPUs that slow each other in integer and front end are threads of one core, whatever \
                   the machine says.";
    Drawn::of(&chart, name, reading)
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

/// Likely offset over time, a curve per pair, those that moved first.
pub(super) fn drift((record, _): Source<'_>, name: &str) -> Option<Drawn> {
    let pairs = record.clock_check.iter().flat_map(|check| &check.pairs);
    let mut shown: Vec<&ClockPair> = pairs.filter(|pair| pair.centres.len() > 1).collect();
    let steepness = |pair: &ClockPair| pair.rate_ppb.filter(|ppb| ppb.is_finite()).map_or(0.0, f64::abs);
    shown.order_by(|a, b| {
        b.fault.is_some().cmp(&a.fault.is_some()).then(steepness(b).total_cmp(&steepness(a)))
    });
    let series = shown.iter().take(MOST_CURVES).enumerate().map(|(style, pair)| {
        let every = pair.centres.len().div_ceil(MOST_POINTS).max(1);
        let sd = pair.sd_ns.unwrap_or(0.0);
        let point = |&[x, value]: &[f64; 2]| {
            let ends = Some(Interval { low: value - sd, high: value + sd });
            LinePoint { x, measure: Measure { ends, ..Measure::exact(value) } }
        };
        let points = pair.centres.iter().step_by(every).map(point).collect();
        LineSeries { name: format!("CPU {} less CPU {}", pair.b, pair.a), style, points }
    });
    let panel = LinePanel::new("", series);
    let chart = LineChart::straight("seconds since the first exchange", "offset, ns", " ns", panel);
    let reading = "Likely offset of each exchange; the ribbon is one standard deviation. Counters in step scatter about a level \
                   line; drift is a slope, and a step stays.";
    Drawn::of(&chart, name, reading)
}
