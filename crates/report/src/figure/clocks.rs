//! Counters of CPUs against each other, now and over time, and what each way to read the time costs.

use record::{ClockPair, ClockRead, Record};
use stats::Interval;

use super::Figure;
use super::pairs::Axis as Cpus;
use crate::draw::{
    Axis, BarChart, BarGroup, BarRow, LineChart, LinePanel, LinePoint, LineSeries, MatrixCell, MatrixChart,
    Measure,
};
use crate::number;
use crate::page::{Drawn, Table};

/// More curves than this cannot be told apart.
const MOST_CURVES: usize = 6;
/// Points of one curve in the picture; more are thinned.
const MOST_POINTS: usize = 240;
/// Exchanges below this make an estimate doubtful: its spread is then hardly known.
const FEW_EXCHANGES: usize = 5;

fn pairs(record: &Record) -> &[ClockPair] {
    record.clock_check.as_ref().map_or(&[], |check| &check.pairs)
}

/// Two matrices: the likely offset, and how far it can be from zero for certain.
pub(super) fn offsets(record: &Record) -> Option<Drawn> {
    let pairs = pairs(record);
    let cpus = Cpus::of(pairs.iter().flat_map(|pair| [pair.a, pair.b]));
    let panel = |title: &str, value: &dyn Fn(&ClockPair) -> Option<f64>, sign: f64| {
        let cells = pairs.iter().filter_map(|pair| Some((pair, value(pair)?)));
        let both = cells.flat_map(|(pair, value)| {
            [(pair.a, pair.b, value), (pair.b, pair.a, sign * value)].map(|(row, column, value)| MatrixCell {
                row: cpus.place(row),
                column: cpus.place(column),
                measure: Measure {
                    doubtful: pair.usable < FEW_EXCHANGES,
                    basis: format!("{} of {} exchanges usable", pair.usable, pair.exchanges),
                    ..Measure::exact(value)
                },
            })
        });
        cpus.panel(title, both.collect())
    };
    let chart = MatrixChart {
        row_label: "reference CPU",
        column_label: "CPU",
        unit: " ns",
        panels: vec![
            panel("likely offset", &|pair| pair.estimate_ns, -1.0),
            panel("guaranteed: at most so far apart", &farthest, 1.0),
        ],
        ..MatrixChart::default()
    };
    let reading = "Counter of the column less that of the row. The guaranteed bound follows from causality alone; the likely \
                   offset also takes it that a message needs as long there as back. An offset within the bound cannot be \
                   noticed by programs that talk through memory.";
    Drawn::of(&chart, Figure::ClockOffsets.name(), reading, Table::default())
}

/// How far two counters can be apart at most, in nanoseconds.
fn farthest(pair: &ClockPair) -> Option<f64> {
    pair.interval_ns.map(|[low, high]| low.abs().max(high.abs()))
}

/// Likely offset over time, a curve per pair, those that moved first.
pub(super) fn drift(record: &Record) -> Option<Drawn> {
    let mut shown: Vec<&ClockPair> = pairs(record).iter().filter(|pair| pair.centres.len() > 1).collect();
    let steepness = |pair: &ClockPair| pair.rate_ppb.filter(|ppb| ppb.is_finite()).map_or(0.0, f64::abs);
    shown.sort_by(|a, b| {
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
    let chart = LineChart {
        x_label: "seconds since the first exchange",
        y_label: "offset, ns",
        unit: " ns",
        x: Axis::Linear,
        y: Axis::Linear,
        panels: vec![LinePanel::new("", series)],
    };
    let reading = "Likely offset of each exchange; the ribbon is one standard deviation. Counters in step scatter about a level \
                   line; drift is a slope, and a step stays.";
    Drawn::of(&chart, Figure::ClockDrift.name(), reading, Table::default())
}

/// All reads that were priced on the first CPU; of the others only where nothing else is known.
fn priced(record: &Record) -> Vec<&ClockRead> {
    let whole = record.clock_cost.as_ref().map_or(&[][..], |cost| &cost.reads);
    let is_new =
        |read: &&ClockRead| !whole.iter().any(|other| (&other.name, other.cpu) == (&read.name, read.cpu));
    whole.iter().chain(record.clocks.iter().filter(is_new)).collect()
}

/// Nanoseconds per read, in groups of ordered and unordered ones, and what tells no time.
pub(super) fn prices(record: &Record) -> Option<Drawn> {
    let priced = priced(record);
    let first = priced.first()?.cpu;
    let group = |holds: &dyn Fn(&ClockRead) -> bool, style: usize, title: &str| {
        let mut reads: Vec<&ClockRead> =
            priced.iter().copied().filter(|read| read.cpu == first && holds(read)).collect();
        reads.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        BarGroup { title: title.to_owned(), style, rows: reads.into_iter().map(bar).collect() }
    };
    // Only a whole list names the steps of a clock, and with it what tells no time.
    let is_beside =
        |read: &ClockRead| record.clock_cost.is_some() && !read.ordered && read.resolution_ns.is_none();
    let mut groups = vec![
        group(&|read| read.ordered, 0, "ordered: not overtaken by earlier loads"),
        group(&|read| !read.ordered && !is_beside(read), 1, "not ordered: may run too early"),
        group(&is_beside, 2, "beside them, telling no time: the loop that each stands in, numbers of CPUs"),
    ];
    groups.retain(|group| !group.rows.is_empty());
    let reading = format!(
        "On CPU {first}. Ordered reads cannot be overtaken by neighbouring instructions; the others can, and must be \
         fenced before they are compared between threads. Hatched: another run may differ by more than 2 %."
    );
    let chart = BarChart { x_label: "ns per read", unit: " ns", groups };
    Drawn::of(&chart, Figure::ClockPrices.name(), reading, Table::default())
}

fn bar(read: &ClockRead) -> BarRow {
    let measure = Measure::of(read.ns, &read.spread, |ns| ns);
    BarRow {
        name: read.name.replace("clock_gettime(CLOCK_", "").replace(')', "").replace("clock_gettime ", ""),
        measure: Measure { doubtful: read.refused.is_some() || measure.doubtful, ..measure },
        label: number::told(read.ns, &read.spread),
    }
}
