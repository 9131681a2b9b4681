//! Bandwidth curves, one panel for one CPU and one for many at once.

use std::fmt::Write;

use record::{BandwidthPoint, Record, Scope};

use super::Figure;
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries, Mark};
use crate::number::gigabytes;
use crate::page::{Drawn, Table};
use crate::{naming, number};

/// More curves than this cannot be told apart; the rest is in the CSV.
const MOST_SERIES: usize = 6;

/// Kernel, instruction set and store.
type Key<'r> = (&'r str, &'r str, &'r str);

fn key(point: &BandwidthPoint) -> Key<'_> {
    (&point.kernel, &point.isa, &point.store)
}

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let points = &record.memory.bandwidth;
    let mut keys = naming::distinct(points.iter().map(key));
    let left_out = keys.len().saturating_sub(MOST_SERIES);
    keys.truncate(MOST_SERIES);
    let scopes = [Scope::Cpu, Scope::Node, Scope::Machine].into_iter();
    let chart = LineChart {
        x_label: "block: all bytes of all arrays and threads, logarithmic",
        y_label: "GB/s, logarithmic",
        unit: " GB/s",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels: scopes.filter_map(|scope| panel(record, scope, &keys)).collect(),
    };
    let mut reading = "Each step down is a level that no longer holds the block; dotted lines mark the sizes that were \
                       found. Ribbons are 95 % intervals, hollow markers doubtful points. 1 GB is 10⁹ bytes, counted \
                       as STREAM does."
        .to_owned();
    if left_out > 0 {
        let _ = write!(reading, " {left_out} more kernels are in the CSV.");
    }
    Drawn::of(&chart, Figure::Bandwidth.name(), reading, table(points, &keys))
}

fn panel(record: &Record, scope: Scope, keys: &[Key<'_>]) -> Option<LinePanel> {
    let of: Vec<&BandwidthPoint> =
        record.memory.bandwidth.iter().filter(|point| point.scope == scope).collect();
    let cpus = &of.first()?.cpus;
    let curve = |(style, wanted): (usize, &Key<'_>)| {
        let those = of.iter().filter(|point| key(point) == *wanted && point.cpus == *cpus);
        let point = |p: &&BandwidthPoint| {
            LinePoint::measured(p.block_bytes.0 as f64, p.bytes_per_s, &p.spread, gigabytes)
        };
        let mut points: Vec<LinePoint> = those.map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        LineSeries { name: naming::series(wanted.0, wanted.1, wanted.2), style, points }
    };
    let series = keys.iter().enumerate().map(curve).filter(|series| !series.points.is_empty());
    let title = match scope {
        Scope::Cpu => format!("One CPU (CPU {cpus})"),
        Scope::Node => format!("One node at once (CPUs {cpus})"),
        Scope::Machine => format!("All CPUs at once (CPUs {cpus})"),
    };
    let marks = if scope == Scope::Cpu { level_marks(record) } else { Vec::new() };
    Some(LinePanel { marks, ..LinePanel::new(title, series) })
}

/// The sizes of the levels that were found.
fn level_marks(record: &Record) -> Vec<Mark> {
    let sized = record.levels.caches.iter().filter_map(|level| level.size_bytes.map(|size| (level, size)));
    let mark = |(level, size): (&record::Level, machine::Bytes)| Mark {
        x: size.0 as f64,
        label: format!("{} {}", level.name, number::size(size)),
    };
    sized.map(mark).collect()
}

fn table(points: &[BandwidthPoint], keys: &[Key<'_>]) -> Table {
    let shown = || points.iter().filter(|point| keys.contains(&key(point)));
    let places = naming::distinct(shown().map(|point| (point.cpus.clone(), point.block_bytes)));
    let rows = Table::of("bandwidth", places)
        .word("at once", |(cpus, _)| format!("CPUs {cpus}"))
        .number("block", |(_, block)| *block);
    let columns = keys.iter().fold(rows, |rows, wanted| {
        rows.number((naming::series(wanted.0, wanted.1, wanted.2), "GB/s"), |(cpus, block)| {
            let is_it = |point: &&BandwidthPoint| {
                key(point) == *wanted && (&point.cpus, point.block_bytes) == (cpus, *block)
            };
            let last = shown().rfind(is_it);
            last.map(|point| number::told_as(gigabytes(point.bytes_per_s), &point.spread, gigabytes))
        })
    });
    columns.table()
}
