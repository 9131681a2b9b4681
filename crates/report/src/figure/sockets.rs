//! The figures of sockets and nodes: links, latency and bandwidth by CPU and node, bandwidth of several CPUs at once.

mod links;

use machine::{CpuId, NodeId};
use models::interconnect::SocketAccount;
use record::{NodeBandwidth, NodeLatency, PackageScaling, Sockets};

use crate::draw::{
    Axis, LineChart, LinePanel, LinePoint, LineSeries, MatrixCell, MatrixChart, MatrixPanel, Measure,
};
use crate::figure::Figure;
use crate::interconnect::{self, GraphPicture};
use crate::page::{Drawn, Table};
use crate::{naming, number};
pub(crate) use links::by_distance;
use links::predicted;

/// Panels with more columns than this stand below each other.
const COLUMNS_BESIDE: usize = 8;
/// Curves that are distinguishable; of more packages the slowest, the median and the fastest are shown.
const CURVES_MAX: usize = 4;

/// Kernels with their kinds of store, in the order measured.
pub(crate) fn kernels(sockets: &Sockets) -> Vec<(&str, &str)> {
    naming::distinct(sockets.bandwidth.iter().map(|one| (one.kernel.as_str(), one.store.as_str())))
}

/// How the nodes are linked; none if neither latencies nor hardware tell it.
pub(crate) fn links(sockets: &Sockets, account: &SocketAccount) -> Option<Drawn> {
    links::picture(sockets, account).map(|picture| graph(&picture, Figure::SocketLinks.name()))
}

/// The graph of links, with what each node's reads take.
pub(crate) fn graph(picture: &GraphPicture, name: &str) -> Drawn {
    Drawn {
        svg: interconnect::draw_graph(picture, name),
        reading: picture.reading(),
        table: reads_table(picture),
    }
}

/// A row per reader: what its reads of each home take, measured and predicted.
fn reads_table(picture: &GraphPicture) -> Table {
    let Some(reads) = &picture.reads else { return Table::default() };
    let rows = Table::of("reads", 0..picture.names.len())
        .word("read", |reader| format!("from {}", picture.names[*reader]));
    let homes = picture.names.iter().enumerate();
    let columns = homes.fold(rows, |rows, (home, name)| {
        let text = |reader: &usize| reads.text(*reader, home).unwrap_or_else(|| "-".to_owned());
        rows.word(format!("memory of {name}"), text)
    });
    columns.table()
}

/// Values by reader (row) and home (column) as cells; what is not there stays empty.
fn matrix_panel(title: &str, names: &[String], rows: &[Vec<Option<f64>>]) -> MatrixPanel {
    let cells = rows.iter().enumerate().flat_map(|(row, values)| {
        let cell = move |(column, value): (usize, &Option<f64>)| {
            Some(MatrixCell { row, column, measure: Measure::exact((*value)?) })
        };
        values.iter().enumerate().filter_map(cell)
    });
    MatrixPanel {
        title: title.to_owned(),
        rows: names.to_vec(),
        columns: names.to_vec(),
        cells: cells.collect(),
    }
}

/// Latencies of reads by reader and home, on paper.
pub(crate) fn read_map(names: &[String], rows: &[Vec<Option<f64>>], title: &str) -> Option<Drawn> {
    let chart = chart(vec![matrix_panel(title, names, rows)], "reader", " ns");
    let reading = "Nanoseconds of a read: row, who reads; column, whose memory.";
    Drawn::of(&chart, Figure::SocketLatency.name(), reading, Table::default())
}

fn chart(panels: Vec<MatrixPanel>, row_label: &'static str, unit: &'static str) -> MatrixChart {
    let widest = panels.iter().map(|panel| panel.columns.len()).max().unwrap_or(0);
    MatrixChart {
        row_label,
        column_label: "memory of node",
        unit,
        panels_per_row: if widest <= COLUMNS_BESIDE { 2 } else { 1 },
        panels,
        ..MatrixChart::default()
    }
}

/// Whether the memory of no second node was measured.
pub(crate) fn is_one_node(sockets: &Sockets) -> bool {
    Places::of(sockets).nodes.len() < 2
}

/// Rows and columns of what was measured: CPUs with their nodes, and nodes.
struct Places {
    cpus: Vec<CpuId>,
    nodes: Vec<NodeId>,
    rows: Vec<String>,
}

impl Places {
    fn of(sockets: &Sockets) -> Self {
        let mut nodes: Vec<NodeId> = sockets.latency.iter().map(|one| one.node).collect();
        nodes.extend(sockets.bandwidth.iter().map(|one| one.node));
        nodes.sort_unstable();
        nodes.dedup();
        let name = |subject: &record::SocketSubject| {
            subject.node.map_or_else(|| subject.cpu.to_string(), |node| format!("{} (n{node})", subject.cpu))
        };
        Self {
            cpus: sockets.subjects.iter().map(|subject| subject.cpu).collect(),
            nodes,
            rows: sockets.subjects.iter().map(name).collect(),
        }
    }

    /// The label of the rows, where their names leave room for one.
    fn label(&self) -> &'static str {
        const NAME_MAX: usize = 7;
        if self.rows.iter().all(|name| name.len() <= NAME_MAX) { "CPU" } else { "" }
    }

    fn panel(&self, title: String, values: impl Iterator<Item = Entry>) -> MatrixPanel {
        let cell = |entry: Entry| {
            Some(MatrixCell {
                row: self.cpus.iter().position(|&cpu| cpu == entry.cpu)?,
                column: self.nodes.iter().position(|&node| node == entry.node)?,
                measure: entry.measure,
            })
        };
        MatrixPanel {
            title,
            rows: self.rows.clone(),
            columns: self.nodes.iter().map(ToString::to_string).collect(),
            cells: values.filter_map(cell).collect(),
        }
    }
}

/// One number of a CPU and a node.
struct Entry {
    cpu: CpuId,
    node: NodeId,
    measure: Measure,
}

/// What latencies of nodes were measured in.
fn chased_in(sockets: &Sockets) -> String {
    let largest = sockets.nodes.iter().map(|node| node.block_bytes).max();
    let block = largest.map_or_else(String::new, |bytes| format!(" in {bytes}"));
    format!("random order{block}, huge pages where given")
}

/// Latency by CPU and node; none on a machine of one node, where it is a column of the table of CPUs.
pub(crate) fn latency(sockets: &Sockets, account: Option<&SocketAccount>) -> Option<Drawn> {
    let places = Places::of(sockets);
    if places.nodes.len() < 2 {
        return None;
    }
    let value = |one: &NodeLatency| Entry {
        cpu: one.cpu,
        node: one.node,
        measure: Measure::of(one.ns, &one.spread, |ns| ns),
    };
    let mut panels = vec![places.panel("measured".to_owned(), sockets.latency.iter().map(value))];
    // Beside a large map there is no room; the numbers of the graph hold both.
    let model = account.map(predicted).filter(|rows| (1..=COLUMNS_BESIDE).contains(&rows.len()));
    if let (Some(rows), Some(inference)) = (model, account.and_then(|account| account.inference.as_ref())) {
        let names: Vec<String> = inference.nodes.iter().map(ToString::to_string).collect();
        panels.push(matrix_panel("as the model predicts, by node", &names, &rows));
    }
    let chart = chart(panels, places.label(), " ns");
    let reading = format!(
        "Nanoseconds per dependent load, {}, idle machine: row, the CPU that loads and its node; column, the node whose \
         memory it loads from.",
        chased_in(sockets)
    );
    Drawn::of(&chart, Figure::SocketLatency.name(), reading, Table::default())
}

/// Bandwidth by CPU and node, a panel per kernel; none on a machine of one node.
pub(crate) fn bandwidth(sockets: &Sockets) -> Option<Drawn> {
    let places = Places::of(sockets);
    if places.nodes.len() < 2 {
        return None;
    }
    let panels = kernels(sockets).into_iter().map(|(kernel, store)| {
        let of = sockets.bandwidth.iter().filter(|one| one.kernel == kernel && one.store == store);
        let value = |one: &NodeBandwidth| Entry {
            cpu: one.cpu,
            node: one.node,
            measure: Measure::of(one.bytes_per_s, &one.spread, number::gigabytes),
        };
        places.panel(naming::series_short(kernel, "", store, false), of.map(value))
    });
    let chart = chart(panels.collect(), places.label(), " GB/s");
    let reading = "One CPU alone, bytes counted as STREAM counts them. Bright is fast. nt: stores that go past the caches.";
    Drawn::of(&chart, Figure::SocketBandwidth.name(), reading, Table::default())
}

/// Bandwidth of 1 to n CPUs of a package, with what as many single CPUs would make up to the roof; none with fewer than three
/// points, which make no curve.
pub(crate) fn together(sockets: &Sockets) -> Option<Drawn> {
    let packages = shown_packages(&sockets.scaling);
    let curve = |(style, package): (usize, &Option<i64>)| {
        let points = of_package(&sockets.scaling, *package).map(point).collect();
        LineSeries { name: package_name(*package), style, points }
    };
    let mut series: Vec<LineSeries> = packages.iter().enumerate().map(curve).collect();
    if series.iter().all(|one| one.points.len() < 3) {
        return None;
    }
    series.push(LineSeries {
        name: format!("{}: n times one CPU, up to its roof", package_name(packages[0])),
        style: CURVES_MAX,
        points: ideal(&series[0].points),
    });
    let chart = LineChart {
        x_label: "CPUs at work",
        y_label: "GB/s",
        unit: " GB/s",
        x: Axis::Linear,
        y: Axis::Linear,
        panels: vec![LinePanel::new("", series)],
    };
    let reading = "Triad with plain stores, every CPU in memory of its own. Where the curve bends down from the straight line, \
                   CPUs wait for each other; what single CPUs differ by vanishes where they reach the roof.";
    Drawn::of(&chart, Figure::SocketTogether.name(), reading, Table::default())
}

fn package_name(package: Option<i64>) -> String {
    package.map_or_else(|| "all CPUs".to_owned(), |package| format!("package {package}"))
}

fn of_package(scaling: &[PackageScaling], package: Option<i64>) -> impl Iterator<Item = &PackageScaling> {
    scaling.iter().filter(move |one| one.package == package && one.bytes_per_s.is_finite())
}

/// All packages, or of many the slowest, the median and the fastest by their greatest bandwidth.
fn shown_packages(scaling: &[PackageScaling]) -> Vec<Option<i64>> {
    let finite = scaling.iter().filter(|one| one.bytes_per_s.is_finite());
    let by_package = naming::grouped(finite.map(|one| (one.package, one.bytes_per_s)));
    let roof = |(package, rates): (Option<i64>, Vec<f64>)| {
        (package, rates.into_iter().fold(f64::NEG_INFINITY, f64::max))
    };
    let mut roofs: Vec<(Option<i64>, f64)> = by_package.into_iter().map(roof).collect();
    if roofs.len() > CURVES_MAX {
        roofs.sort_by(|a, b| a.1.total_cmp(&b.1));
        roofs = vec![roofs[0], roofs[roofs.len() / 2], roofs[roofs.len() - 1]];
    }
    roofs.into_iter().map(|(package, _)| package).collect()
}

fn point(one: &PackageScaling) -> LinePoint {
    LinePoint::measured(one.cpus.len() as f64, one.bytes_per_s, &one.spread, number::gigabytes)
}

/// A straight line from the first point to where it meets the greatest value, then that.
fn ideal(points: &[LinePoint]) -> Vec<LinePoint> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let (each, roof) =
        (first.measure.value / first.x, points.iter().map(|point| point.measure.value).fold(0.0, f64::max));
    let bend = (roof / each).clamp(first.x, last.x);
    let mut line = vec![LinePoint::exact(first.x, first.measure.value), LinePoint::exact(bend, each * bend)];
    if bend < last.x {
        line.push(LinePoint::exact(last.x, roof));
    }
    line
}
