//! Counters of CPUs against each other, now and over time, and what each way to read the time costs.

use record::{ClockPair, ClockRead, Quality, Record};

use super::pairs::Axis as Cpus;
use super::{Drawn, Figure};
use crate::draw::{
    Axis, BarChart, BarGroup, BarRow, LineChart, LinePanel, LinePoint, LineSeries, MatrixCell, MatrixChart,
};
use crate::number;
use crate::page::Table;
use crate::view::check_up;

/// Longer tables are cut; the record has all pairs.
const MOST_ROWS: usize = 200;
/// More curves than this cannot be told apart.
const MOST_CURVES: usize = 6;
/// Points of one curve in the picture; more are thinned.
const MOST_POINTS: usize = 240;
/// Exchanges below this make an estimate doubtful: its spread is then hardly known.
const FEW_EXCHANGES: usize = 5;

fn pairs(record: &Record) -> &[ClockPair] {
    record.clock_check.as_ref().map_or(&[], |check| &check.pairs)
}

fn name(pair: &ClockPair) -> String {
    format!("{}-{}", pair.a, pair.b)
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
                value,
                doubtful: pair.usable < FEW_EXCHANGES,
                ..MatrixCell::default()
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
    let table = Table::of("offsets", pairs.iter().take(MOST_ROWS))
        .word("CPUs", |pair| name(pair))
        .word(("guaranteed", "ns"), |pair| bounds(pair.interval_ns))
        .word(("estimate", "ns"), |pair| told(pair.estimate_ns, pair.sd_ns))
        .word(("drift", "ppb"), |pair| told(pair.rate_ppb, pair.rate_error_ppb))
        .word(("certain", "ppb"), |pair| bounds(pair.rate_interval_ppb))
        .word("usable", |pair| format!("{} of {}", pair.usable, pair.exchanges))
        .table();
    let reading = "Counter of the column less that of the row. The guaranteed bound follows from causality alone; the likely \
                   offset also takes it that a message needs as long there as back. An offset within the bound cannot be \
                   noticed by programs that talk through memory.";
    Drawn::of(&chart, Figure::ClockOffsets.name(), reading, table)
}

/// How far two counters can be apart at most, in nanoseconds.
fn farthest(pair: &ClockPair) -> Option<f64> {
    pair.interval_ns.map(|[low, high]| low.abs().max(high.abs()))
}

fn bounds(interval: Option<[f64; 2]>) -> String {
    let words = |[low, high]: [String; 2]| format!("{low} to {high}");
    interval.map_or_else(|| "-".to_owned(), |ends| words(ends.map(number::short)))
}

fn told(value: Option<f64>, error: Option<f64>) -> String {
    match (value, error) {
        (Some(value), Some(error)) => format!("{} ± {}", number::short(value), number::short(error)),
        (Some(value), None) => number::short(value),
        _ => "-".to_owned(),
    }
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
        let point = |&[x, y]: &[f64; 2]| LinePoint { x, y, low: y - sd, high: y + sd, doubtful: false };
        let points = pair.centres.iter().step_by(every).map(point).collect();
        LineSeries { name: format!("CPU {} less CPU {}", pair.b, pair.a), style, points }
    });
    let chart = LineChart {
        x_label: "seconds since the first exchange",
        y_label: "offset, ns",
        x: Axis::Linear,
        y: Axis::Linear,
        panels: vec![LinePanel::new("", series)],
    };
    let table = Table::of("drift", shown.iter().take(MOST_ROWS))
        .word("CPUs", |pair| name(pair))
        .word(("drift", "ppb"), |pair| told(pair.rate_ppb, pair.rate_error_ppb))
        .word(("certain", "ppb"), |pair| bounds(pair.rate_interval_ppb))
        .word(("watched", "s"), |pair| number::short(pair.watched_s))
        .word("moves for certain", |pair| if pair.moves_for_certain { "yes" } else { "not seen" })
        .table();
    let reading = "Likely offset of each exchange; the ribbon is one standard deviation. Counters in step scatter about a level \
                   line; drift is a slope, and a step stays.";
    Drawn::of(&chart, Figure::ClockDrift.name(), reading, table)
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
    let chart = BarChart { x_label: "ns per read", groups };
    Drawn::of(&chart, Figure::ClockPrices.name(), reading, check_up::clock_reads(&priced))
}

fn bar(read: &ClockRead) -> BarRow {
    BarRow {
        name: read.name.replace("clock_gettime(CLOCK_", "").replace(')', "").replace("clock_gettime ", ""),
        value: read.ns,
        low: read.spread.interval.low,
        high: read.spread.interval.high,
        doubtful: read.refused.is_some() || read.spread.quality != Quality::Converged,
        told: number::told(read.ns, &read.spread),
    }
}
