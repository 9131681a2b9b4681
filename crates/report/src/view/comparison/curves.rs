//! Pictures of several configurations: curves of bandwidth and latency over each other, and the difference of two latency surfaces,
//! cell by cell.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{LatencyCell, Record, Scope};
use stats::Order;

use crate::draw::{
    Axis, Colours, LineChart, LinePanel, LinePoint, LineSeries, MatrixChart, MatrixPanel, Measure,
};
use crate::figure::by_block_and_stride;
use crate::number::short;
use crate::page::{Drawn, Table};
use crate::{naming, number};

/// More kernels than this make a page of curves; the rest is in the records' own reports.
const MOST_PANELS: usize = 4;

/// Cells at this stride touch every line of a block.
const LINE_STRIDE: Bytes = Bytes(64);

/// Colours saturate at this change at least, and at most at that, in percent.
const REACH_PERCENT: (f64, f64) = (5.0, 100.0);
/// The colours saturate where this share of the cells lies within.
const REACH_QUANTILE: f64 = 0.98;

/// A record under the name of its configuration; its place chooses colour and dash.
pub(super) struct Named<'r> {
    pub(super) style: usize,
    pub(super) name: &'r str,
    pub(super) record: &'r Record,
}

/// One panel per key that at least two records hold, one curve per record.
fn panels<K: Ord + Clone>(
    records: &[Named<'_>],
    keys: impl Fn(&Record) -> Vec<K>,
    points: impl Fn(&Record, &K) -> Vec<LinePoint>,
    title: impl Fn(&K) -> String,
) -> Vec<LinePanel> {
    let curve = |one: &Named<'_>, key: &K| {
        let mut points = points(one.record, key);
        points.order_by(|a, b| a.x.total_cmp(&b.x));
        LineSeries { name: one.name.to_owned(), style: one.style, points }
    };
    let panel = |key: &K| {
        let series = records.iter().map(|one| curve(one, key));
        LinePanel::new(title(key), series.filter(|series| !series.points.is_empty()))
    };
    let mut seen: BTreeSet<K> = BTreeSet::new();
    let mut order: Vec<K> = records.iter().flat_map(|one| keys(one.record)).collect();
    order.retain(|key| seen.insert(key.clone()));
    let panels = order.iter().map(panel);
    panels.filter(|panel| panel.series.len() > 1).take(MOST_PANELS).collect()
}

pub(super) fn bandwidth(records: &[Named<'_>]) -> Option<Drawn> {
    type Key = (Workers, String, String, String);
    let keys = |record: &Record| -> Vec<Key> {
        let points = record.memory.bandwidth.iter();
        points.map(|p| (Workers::of(p.scope), p.kernel.clone(), p.isa.clone(), p.store.clone())).collect()
    };
    let points = |record: &Record, key: &Key| {
        let of = record.memory.bandwidth.iter().filter(|p| {
            (Workers::of(p.scope), &p.kernel, &p.isa, &p.store) == (key.0, &key.1, &key.2, &key.3)
        });
        let x = |p: &record::BandwidthPoint| p.block_bytes.0 as f64;
        of.map(|p| LinePoint::measured(x(p), p.bytes_per_s, &p.spread, number::gigabytes)).collect()
    };
    let title = |key: &Key| format!("{}, {}", naming::series(&key.1, &key.2, &key.3), key.0.words());
    let chart = LineChart {
        x_label: "block: all bytes of all arrays and threads, logarithmic",
        y_label: "GB/s, logarithmic",
        unit: " GB/s",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels: panels(records, keys, points, title),
    };
    let reading = "Where the curves lie over each other nothing changed; where they part, the step or the level shows what did. \
                   Ribbons are 95 % intervals, hollow markers doubtful points.";
    Drawn::of(&chart, "comparison-bandwidth", reading, Table::default())
}

/// Who worked, in an order: one CPU first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Workers {
    One,
    Node,
    All,
}

impl Workers {
    fn of(scope: Scope) -> Self {
        match scope {
            Scope::Cpu => Self::One,
            Scope::Node => Self::Node,
            Scope::Machine => Self::All,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::One => "one CPU",
            Self::Node => "one node at once",
            Self::All => "all CPUs at once",
        }
    }
}

pub(super) fn latency(records: &[Named<'_>]) -> Option<Drawn> {
    let keys = |record: &Record| record.memory.latency.iter().map(|cell| cell.page_bytes).collect();
    let points = |record: &Record, page: &Bytes| {
        let is_it = |cell: &&LatencyCell| cell.page_bytes == *page && cell.stride_bytes == LINE_STRIDE;
        let of = record.memory.latency.iter().filter(is_it);
        of.map(|c| LinePoint::measured(c.block_bytes.0 as f64, c.ns, &c.spread, |ns| ns)).collect()
    };
    let chart = LineChart {
        x_label: "block size, logarithmic",
        y_label: "ns, logarithmic",
        unit: " ns",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels: panels(records, keys, points, |page| naming::pages(*page)),
    };
    let reading = "Load-to-use latency of a random chain that touches every line of the block. Ribbons are 95 % intervals, hollow \
                   markers doubtful points.";
    Drawn::of(&chart, "comparison-latency", reading, Table::default())
}

/// Two cells at one place.
type Both<'r> = (&'r LatencyCell, &'r LatencyCell);

/// The figure; `None` if the records have no cell in common.
pub(super) fn surface(
    name: &str,
    baseline: &Record,
    candidate: &Record,
    margin_percent: f64,
) -> Option<Drawn> {
    let pages: BTreeSet<Bytes> = baseline.memory.latency.iter().map(|cell| cell.page_bytes).collect();
    let panels: Vec<MatrixPanel> = pages
        .into_iter()
        .map(|page| panel(common(baseline, candidate, page), page))
        .filter(|panel| !panel.cells.is_empty())
        .collect();
    let sizes: Vec<f64> =
        panels.iter().flat_map(|panel| &panel.cells).map(|one| one.measure.value.abs()).collect();
    let reach = stats::quantile(&sizes, REACH_QUANTILE)?.clamp(REACH_PERCENT.0, REACH_PERCENT.1);
    let chart = MatrixChart {
        colours: Colours::Change { margin: margin_percent, reach },
        ..MatrixChart::by_block_and_stride(" %", panels)
    };
    let reading = format!(
        "Change of latency in percent, cell by cell: orange is slower, blue faster, without colour within the margin of \
         {margin_percent} %. Hatched cells have intervals that overlap: there the colour may be noise.",
    );
    Drawn::of(&chart, name, reading, Table::default())
}

fn common<'r>(baseline: &'r Record, candidate: &'r Record, page: Bytes) -> Vec<Both<'r>> {
    let place = |cell: &LatencyCell| (cell.page_bytes, cell.block_bytes, cell.stride_bytes);
    let find = |cell: &LatencyCell| candidate.memory.latency.iter().find(|other| place(other) == place(cell));
    let of_page = baseline.memory.latency.iter().filter(|cell| cell.page_bytes == page);
    let both = of_page.filter_map(|cell| Some((cell, find(cell)?)));
    both.filter(|both| change_percent(both).is_finite()).collect()
}

fn change_percent((cell, other): &Both<'_>) -> f64 {
    (other.ns / cell.ns - 1.0) * 100.0
}

/// The change of each cell, hatched where the intervals overlap.
fn panel(changes: Vec<Both<'_>>, page: Bytes) -> MatrixPanel {
    let measured = changes.into_iter().map(|both| {
        let (cell, other) = both;
        let doubtful = cell.spread.interval.overlaps(&other.spread.interval);
        let [from, to] = [cell.ns, other.ns].map(short);
        let basis = format!("{from} to {to} ns{}", if doubtful { ", intervals overlap" } else { "" });
        (cell, Measure { doubtful, basis, ..Measure::exact(change_percent(&both)) })
    });
    by_block_and_stride(naming::pages(page), measured.collect())
}
