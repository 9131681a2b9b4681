//! Memory: bandwidth against block size, the latency surface, STREAM by CPU, and what address translation adds. The numbers of every point are in the CSV.

use std::collections::BTreeSet;
use std::fmt::Write;

use machine::Bytes;
use record::{BandwidthPoint, Record, Scope, WalkPoint};
use stats::Order;
use stats::text::capital;

use super::Source;
use super::pairs::Axis as Cpus;
use crate::draw::{
    Axis, LineChart, LinePanel, LinePoint, LineSeries, Mark, MatrixCell, MatrixChart, MatrixPanel, Measure,
    SurfaceCell, SurfaceChart,
};
use crate::number::gigabytes;
use crate::page::Drawn;
use crate::{naming, number};

/// Curves of more kernels than this are not distinguishable; the rest is in the CSV.
const MOST_SERIES: usize = 6;
/// More panels make a page of curves; the rest is in the records' own reports.
const MOST_PANELS: usize = 4;
/// What a cell is called whose level nobody found.
const NO_LEVEL: &str = "level unknown";

/// Kernel, instruction set and store.
type Key<'r> = (&'r str, &'r str, &'r str);

fn key(point: &BandwidthPoint) -> Key<'_> {
    (&point.kernel, &point.isa, &point.store)
}

fn bandwidth_curve<'p>(
    name: String,
    style: usize,
    points: impl Iterator<Item = &'p BandwidthPoint>,
) -> LineSeries {
    let point =
        |p: &BandwidthPoint| LinePoint::measured(p.block_bytes.0 as f64, p.bytes_per_s, &p.spread, gigabytes);
    let mut points: Vec<LinePoint> = points.map(point).collect();
    points.order_by(|a, b| a.x.total_cmp(&b.x));
    LineSeries { name, style, points }
}

pub(super) fn bandwidth((record, _): Source<'_>, name: &str) -> Option<Drawn> {
    let mut keys = naming::distinct(record.memory.bandwidth.iter().map(key));
    let hidden = keys.len().saturating_sub(MOST_SERIES);
    keys.truncate(MOST_SERIES);
    let scopes = [Scope::Cpu, Scope::Node, Scope::Machine].into_iter();
    let chart =
        LineChart::bandwidths(scopes.filter_map(|scope| bandwidth_panel(record, scope, &keys)).collect());
    let mut reading = "Each step down is a level that no longer holds the block; dotted lines mark the sizes that were \
                       found. Ribbons are 95 % intervals, hollow markers doubtful points. 1 GB is 10⁹ bytes, counted \
                       as STREAM does."
        .to_owned();
    if hidden > 0 {
        let _ = write!(reading, " {hidden} more kernels are in the CSV.");
    }
    Drawn::of(&chart, name, reading)
}

/// Bandwidth of several records, each with its place and its name, over each other: a panel for what at least two of them hold.
pub(crate) fn bandwidth_of_several(records: &[(usize, &str, &Record)]) -> Option<Drawn> {
    let all = records.iter().flat_map(|(.., record)| &record.memory.bandwidth);
    let panel = |(scope, of_key): (Scope, Key<'_>)| {
        let curve = |(style, name, record): &(usize, &str, &Record)| {
            let of = record.memory.bandwidth.iter().filter(|p| p.scope == scope && key(p) == of_key);
            bandwidth_curve((*name).to_owned(), *style, of)
        };
        let series = records.iter().map(curve).filter(|series| !series.points.is_empty());
        LinePanel::new(
            format!("{}, {}", naming::series(of_key.0, of_key.1, of_key.2), at_work(scope)),
            series,
        )
    };
    let panels = naming::distinct(all.map(|p| (p.scope, key(p)))).into_iter().map(panel);
    let panels = panels.filter(|panel| panel.series.len() > 1).take(MOST_PANELS);
    let reading = "Where the curves lie over each other nothing changed; where they part, the step or the level shows what did. \
                   Ribbons are 95 % intervals, hollow markers doubtful points; each curve is the first run of its configuration.";
    Drawn::of(&LineChart::bandwidths(panels.collect()), "comparison-bandwidth", reading)
}

fn at_work(scope: Scope) -> &'static str {
    match scope {
        Scope::Cpu => "one CPU",
        Scope::Node => "one node at once",
        Scope::Machine => "all CPUs at once",
    }
}

fn bandwidth_panel(record: &Record, scope: Scope, keys: &[Key<'_>]) -> Option<LinePanel> {
    let of: Vec<&BandwidthPoint> =
        record.memory.bandwidth.iter().filter(|point| point.scope == scope).collect();
    let cpus = &of.first()?.cpus;
    let curve = |(style, of_key): (usize, &Key<'_>)| {
        let those = of.iter().copied().filter(|point| key(point) == *of_key && point.cpus == *cpus);
        bandwidth_curve(naming::series(of_key.0, of_key.1, of_key.2), style, those)
    };
    let series = keys.iter().enumerate().map(curve).filter(|series| !series.points.is_empty());
    let title = format!("{} ({})", capital(at_work(scope)), naming::cpus(cpus));
    // Where caches end on the surface; of the last one what is answered, if it is.
    let answered = record.answers.iter().find(|answer| answer.question == "L3" && answer.unit == "bytes");
    let answered = answered.and_then(|answer| Some(("L3", Bytes(answer.value? as u64))));
    let levels = record.levels.caches.iter().filter(|level| answered.is_none() || level.name != "L3");
    let levels = levels.filter_map(|level| Some((level.name.as_str(), level.size_bytes?)));
    let marks = levels.chain(answered).filter(|_| scope == Scope::Cpu);
    let marks =
        marks.map(|(name, size)| Mark { x: size.0 as f64, label: format!("{name} {}", number::size(size)) });
    Some(LinePanel { marks: marks.collect(), ..LinePanel::new(title, series) })
}

/// The surface of the smallest page size.
pub(super) fn surface((record, _): Source<'_>, name: &str) -> Option<Drawn> {
    let page = record.memory.latency.iter().map(|cell| cell.page_bytes).min()?;
    let cells = record.memory.latency.iter().filter(|cell| cell.page_bytes == page);
    let cells = cells.map(|cell| SurfaceCell {
        block_bytes: cell.block_bytes.0,
        stride_bytes: cell.stride_bytes.0,
        measure: Measure::of(cell.ns, &cell.spread, |ns| ns),
        level: cell.level.clone().unwrap_or_else(|| NO_LEVEL.to_owned()),
    });
    let reading = format!(
        "Load-to-use latency of a random chain with {page} pages; height is logarithmic. Each face is coloured by the \
         slowest level of its corners, found from the surface itself, not from what the machine claims."
    );
    Drawn::of(&SurfaceChart { cells: cells.collect() }, name, reading)
}

/// A row for each kernel, a column for each CPU.
pub(super) fn stream((record, _): Source<'_>, name: &str) -> Option<Drawn> {
    let results: Vec<_> = record.memory.stream.iter().filter_map(|one| Some((one.cpu?, one))).collect();
    let mut keys = naming::distinct(results.iter().map(|(_, one)| naming::kernel_of(one)));
    keys.order_by_key(|(kernel, ..)| *kernel != "triad");
    let cpus = Cpus::of(results.iter().map(|(cpu, _)| *cpu));
    let cells = results.iter().filter_map(|(cpu, one)| {
        Some(MatrixCell {
            row: keys.iter().position(|key| *key == naming::kernel_of(one))?,
            column: cpus.place(*cpu),
            measure: Measure::of(one.bytes_per_s, &one.spread, gigabytes),
        })
    });
    let name_of = |(kernel, isa, store): &Key<'_>| format!("{} {isa}", naming::series_short(kernel, store));
    let rows = keys.iter().map(name_of).collect();
    let chart = MatrixChart {
        column_label: "CPU",
        unit: " GB/s",
        panels_per_row: 1,
        square: false,
        panels: vec![MatrixPanel { rows, ..cpus.panel("One CPU at a time", cells.collect()) }],
        ..MatrixChart::default()
    };
    let reading = "Bytes counted as STREAM counts them. CPUs whose intervals overlap are not distinguishable in this run. Plain \
                   stores also read what they overwrite: the table has the traffic on the bus.";
    Drawn::of(&chart, name, reading)
}

/// What address translation adds, against the number of pages visited.
pub(super) fn walks((record, _): Source<'_>, name: &str) -> Option<Drawn> {
    let points = &record.memory.walks;
    let sizes: BTreeSet<Bytes> = points.iter().map(|point| point.page_bytes).collect();
    let series = sizes.iter().enumerate().map(|(style, page)| {
        let mut of: Vec<&WalkPoint> = points.iter().filter(|point| point.page_bytes == *page).collect();
        of.order_by_key(|point| point.pages);
        let point = |p: &&WalkPoint| LinePoint::measured(p.pages as f64, p.delta_ns, &p.spread, |ns| ns);
        LineSeries { name: format!("{page} pages"), style, points: of.iter().map(point).collect() }
    });
    let marks = (record.levels.tlbs.iter())
        .map(|tlb| Mark { x: tlb.entries as f64, label: format!("L{} TLB {}", tlb.level, tlb.entries) });
    let chart = LineChart {
        x_label: "pages visited, one line on each, logarithmic",
        y_label: "added by translation, ns",
        unit: " ns",
        x: Axis::Powers,
        y: Axis::Linear,
        panels: vec![LinePanel { marks: marks.collect(), ..LinePanel::new("", series) }],
    };
    let reading = "One line on each of so many pages, against as many lines side by side: the cache cost cancels, what \
                   remains is translation. Steps are the reach of a TLB level; the last plateau is a page walk.";
    Drawn::of(&chart, name, reading)
}
