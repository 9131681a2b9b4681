//! Curves of several configurations over each other: bandwidth by kernel, latency by page size, against block size.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{Quality, Record, Scope};

use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries};
use crate::figure::{DataTable, Drawn};
use crate::{interactive, naming, number};

/// More kernels than this make a page of curves; the rest is in the records' own reports.
const MOST_PANELS: usize = 4;

/// Cells at this stride touch every line of a block.
const LINE_STRIDE: Bytes = Bytes(64);

/// A record under the name of its configuration; its place chooses colour and dash.
pub(crate) struct Named<'r> {
    pub(crate) style: usize,
    pub(crate) name: &'r str,
    pub(crate) record: &'r Record,
}

fn drawn(name: &str, chart: &LineChart, reading: &str) -> Option<Drawn> {
    if chart.is_empty() {
        return None;
    }
    Some(Drawn {
        svg: chart.draw(name),
        reading: reading.to_owned(),
        table: DataTable::default(),
        interactive: Some(interactive::lines(chart)),
        needs_webgl: false,
    })
}

/// One panel per key that at least two records hold, one curve per record.
fn panels<K: Ord + Clone>(
    records: &[Named<'_>],
    keys: impl Fn(&Record) -> Vec<K>,
    points: impl Fn(&Record, &K) -> Vec<LinePoint>,
    title: impl Fn(&K) -> String,
) -> Vec<LinePanel> {
    let mut order: Vec<K> = Vec::new();
    let mut seen: BTreeSet<K> = BTreeSet::new();
    for key in records.iter().flat_map(|one| keys(one.record)) {
        if seen.insert(key.clone()) {
            order.push(key);
        }
    }
    let panel = |key: &K| {
        let series: Vec<LineSeries> = records
            .iter()
            .map(|one| {
                let mut points = points(one.record, key);
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                LineSeries { name: one.name.to_owned(), style: one.style, points }
            })
            .filter(|series| !series.points.is_empty())
            .collect();
        LinePanel { title: title(key), series, marks: Vec::new() }
    };
    let panels = order.iter().map(panel);
    panels.filter(|panel| panel.series.len() > 1).take(MOST_PANELS).collect()
}

pub(crate) fn bandwidth(records: &[Named<'_>]) -> Option<Drawn> {
    type Key = (Workers, String, String, String);
    let keys = |record: &Record| -> Vec<Key> {
        record
            .memory
            .bandwidth
            .iter()
            .map(|p| (Workers::of(p.scope), p.kernel.clone(), p.isa.clone(), p.store.clone()))
            .collect()
    };
    let points = |record: &Record, key: &Key| {
        let of = record.memory.bandwidth.iter().filter(|p| {
            (Workers::of(p.scope), &p.kernel, &p.isa, &p.store) == (key.0, &key.1, &key.2, &key.3)
        });
        of.map(|p| LinePoint {
            x: p.block_bytes.0 as f64,
            y: number::gigabytes(p.bytes_per_s),
            low: number::gigabytes(p.spread.interval.low),
            high: number::gigabytes(p.spread.interval.high),
            doubtful: p.spread.quality != Quality::Converged,
        })
        .collect()
    };
    let title = |key: &Key| format!("{}, {}", naming::series(&key.1, &key.2, &key.3), key.0.words());
    let chart = LineChart {
        x_label: "block: all bytes of all arrays and threads, logarithmic",
        y_label: "GB/s, logarithmic",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels: panels(records, keys, points, title),
    };
    drawn(
        "comparison-bandwidth",
        &chart,
        "Where the curves lie over each other nothing changed; where they part, the step or the level shows what did. \
         Ribbons are 95 % intervals, hollow markers doubtful points.",
    )
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

pub(crate) fn latency(records: &[Named<'_>]) -> Option<Drawn> {
    let keys = |record: &Record| -> Vec<Bytes> {
        record.memory.latency.iter().map(|cell| cell.page_bytes).collect()
    };
    let points = |record: &Record, page: &Bytes| {
        let of = record
            .memory
            .latency
            .iter()
            .filter(|cell| cell.page_bytes == *page && cell.stride_bytes == LINE_STRIDE);
        of.map(|cell| LinePoint {
            x: cell.block_bytes.0 as f64,
            y: cell.ns,
            low: cell.spread.interval.low,
            high: cell.spread.interval.high,
            doubtful: cell.spread.quality != Quality::Converged,
        })
        .collect()
    };
    let chart = LineChart {
        x_label: "block size, logarithmic",
        y_label: "ns, logarithmic",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels: panels(records, keys, points, |page| naming::pages(*page)),
    };
    drawn(
        "comparison-latency",
        &chart,
        "Load-to-use latency of a random chain that touches every line of the block. Ribbons are 95 % intervals, hollow \
         markers doubtful points.",
    )
}
