//! Curves of several configurations over each other: bandwidth by kernel, latency by page size, against block size.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{LatencyCell, Record, Scope};

use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries};
use crate::page::{Drawn, Table};
use crate::{naming, number};

/// More kernels than this make a page of curves; the rest is in the records' own reports.
const MOST_PANELS: usize = 4;

/// Cells at this stride touch every line of a block.
const LINE_STRIDE: Bytes = Bytes(64);

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
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
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
