//! The figures of sockets and nodes: links, latency and bandwidth by CPU and node; and the distances of firmware beside what was
//! measured.

use std::collections::BTreeSet;

use machine::{CpuId, Machine, NodeId};
use models::interconnect::{Explanation, Graph, SocketAccount};
use record::{NodeBandwidth, NodeLatency, Sockets};
use stats::text::span;

use super::graph::{self, GraphPicture, Reads};
use crate::draw::{MatrixCell, MatrixChart, MatrixPanel, Measure};
use crate::page::{Drawn, Table};
use crate::{naming, number};

/// Panels with more columns than this stand below each other.
const COLUMNS_BESIDE: usize = 8;

/// Kernels with their kinds of store, in the order measured.
pub(crate) fn kernels(sockets: &Sockets) -> Vec<(&str, &str)> {
    naming::distinct(sockets.bandwidth.iter().map(|one| (one.kernel.as_str(), one.store.as_str())))
}

/// How the nodes are linked; none if neither latencies nor hardware tell it.
pub(crate) fn links(sockets: &Sockets, account: Option<&SocketAccount>, name: &str) -> Option<Drawn> {
    picture(sockets, account?).map(|picture| graph(&picture, name))
}

/// The graph of links, with what each node's reads take.
pub(crate) fn graph(picture: &GraphPicture, name: &str) -> Drawn {
    Drawn { svg: graph::draw(picture, name), reading: picture.reading() }
}

/// A row per reader: what its reads of each home take, measured and predicted; none without a graph.
pub(crate) fn reads(sockets: &Sockets, account: Option<&SocketAccount>) -> Option<Table> {
    let picture = picture(sockets, account?)?;
    let reads = picture.reads.as_ref()?;
    let rows = Table::of("node_reads", 0..picture.names.len())
        .word("read", |reader| format!("from {}", picture.names[*reader]));
    let homes = picture.names.iter().enumerate();
    let columns = homes.fold(rows, |rows, (home, name)| {
        let text = |reader: &usize| reads.text(*reader, home).unwrap_or_else(|| "-".to_owned());
        rows.word(format!("memory of {name}"), text)
    });
    Some(columns.table())
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
    nodes(sockets).len() < 2
}

/// The nodes whose memory was measured.
pub(crate) fn nodes(sockets: &Sockets) -> Vec<NodeId> {
    let latency = sockets.latency.iter().map(|one| one.node);
    let nodes: BTreeSet<NodeId> = latency.chain(sockets.bandwidth.iter().map(|one| one.node)).collect();
    nodes.into_iter().collect()
}

/// Rows and columns of what was measured: CPUs with their nodes, and nodes.
struct Places {
    cpus: Vec<CpuId>,
    nodes: Vec<NodeId>,
    rows: Vec<String>,
}

impl Places {
    fn of(sockets: &Sockets) -> Self {
        let name = |subject: &record::SocketSubject| {
            subject.node.map_or_else(|| subject.cpu.to_string(), |node| format!("{} (n{node})", subject.cpu))
        };
        Self {
            cpus: sockets.subjects.iter().map(|subject| subject.cpu).collect(),
            nodes: nodes(sockets),
            rows: sockets.subjects.iter().map(name).collect(),
        }
    }

    /// The label of the rows, where their names leave room for one.
    fn label(&self) -> &'static str {
        const NAME_MAX: usize = 7;
        if self.rows.iter().all(|name| name.len() <= NAME_MAX) { "CPU" } else { "" }
    }

    fn panel(&self, title: String, values: impl Iterator<Item = (CpuId, NodeId, Measure)>) -> MatrixPanel {
        let cell = |(cpu, node, measure)| {
            Some(MatrixCell {
                row: self.cpus.iter().position(|one| *one == cpu)?,
                column: self.nodes.iter().position(|one| *one == node)?,
                measure,
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

/// What latencies of nodes were measured in.
fn chased_in(sockets: &Sockets) -> String {
    let largest = sockets.nodes.iter().map(|node| node.block_bytes).max();
    let block = largest.map_or_else(String::new, |bytes| format!(" in {bytes}"));
    format!("random order{block}, huge pages where given")
}

/// Latency by CPU and node; none on a machine of one node, where it is a column of the table of CPUs.
pub(crate) fn latency(sockets: &Sockets, account: Option<&SocketAccount>, name: &str) -> Option<Drawn> {
    let places = Places::of(sockets);
    if places.nodes.len() < 2 {
        return None;
    }
    let value = |one: &NodeLatency| (one.cpu, one.node, Measure::of(one.ns, &one.spread, |ns| ns));
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
    Drawn::of(&chart, name, reading)
}

/// Bandwidth by CPU and node, a panel per kernel; none on a machine of one node.
pub(crate) fn bandwidth(sockets: &Sockets, _: Option<&SocketAccount>, name: &str) -> Option<Drawn> {
    let places = Places::of(sockets);
    if places.nodes.len() < 2 {
        return None;
    }
    let panels = kernels(sockets).into_iter().map(|(kernel, store)| {
        let of = sockets.bandwidth.iter().filter(|one| one.kernel == kernel && one.store == store);
        let value = |one: &NodeBandwidth| {
            (one.cpu, one.node, Measure::of(one.bytes_per_s, &one.spread, number::gigabytes))
        };
        places.panel(naming::series_short(kernel, store), of.map(value))
    });
    let chart = chart(panels.collect(), places.label(), " GB/s");
    let reading = "One CPU alone, bytes counted as STREAM counts them. Bright is fast. nt: stores that go past the caches.";
    Drawn::of(&chart, name, reading)
}

/// The graph with the reads of each node; none if neither latencies nor hardware tell one.
fn picture(sockets: &Sockets, account: &SocketAccount) -> Option<GraphPicture> {
    let used = account.graph.as_ref()?;
    let nodes = &account.inference.as_ref()?.nodes;
    Some(GraphPicture {
        title: format!("as {} tell", used.source),
        graph: Graph::of_numbered(nodes, &used.edges)?,
        names: nodes.iter().map(u32::to_string).collect(),
        notes: nodes.iter().map(|&node| own_triad(sockets, NodeId(node))).collect(),
        reads: Some(Reads {
            unit: "ns".to_owned(),
            measured: measured(sockets, nodes),
            predicted: predicted(account),
        }),
    })
}

/// The matrix as the model of the links, or of a mesh, has it; empty without either.
fn predicted(account: &SocketAccount) -> Vec<Vec<Option<f64>>> {
    let (Some(inference), Some(explanation)) = (&account.inference, &account.explanation) else {
        return Vec::new();
    };
    let count = inference.nodes.len();
    let used = account.graph.as_ref();
    let graph = used.and_then(|used| Graph::of_numbered(&inference.nodes, &used.edges));
    let hops = graph.and_then(|graph| graph.hops());
    if hops.is_none() && !matches!(explanation, Explanation::Mesh(_)) {
        return Vec::new();
    }
    let entry = |row, column| explanation.predicted(hops.as_ref(), row, column);
    (0..count).map(|row| (0..count).map(|column| entry(row, column)).collect()).collect()
}

/// Latencies by node that reads and node that is read.
fn measured(sockets: &Sockets, nodes: &[u32]) -> Vec<Vec<Option<f64>>> {
    let entry = |from: u32, to: u32| {
        let cpu = sockets.subjects.iter().find(|subject| subject.node == Some(NodeId(from)))?.cpu;
        let of = sockets.latency.iter().find(|one| one.cpu == cpu && one.node == NodeId(to))?;
        number::positive(of.ns)
    };
    nodes.iter().map(|&from| nodes.iter().map(|&to| entry(from, to)).collect()).collect()
}

/// What was measured at each distance that firmware gives: `10: 102 to 138 ns, 20: 120 to 146 ns`; none without distances.
pub(crate) fn by_distance(sockets: &Sockets, machine: &Machine) -> Option<String> {
    let topology = &machine.topology;
    let distance = |from: NodeId, to: NodeId| {
        let column = topology.distance_nodes.iter().position(|node| *node == to)?;
        topology.nodes.iter().find(|node| node.id == from)?.distances.get(column).copied()
    };
    let measured = sockets.latency.iter().filter(|one| one.ns.is_finite()).filter_map(|one| {
        let from = sockets.subjects.iter().find(|subject| subject.cpu == one.cpu)?;
        Some((distance(from.node?, one.node)?, one.ns))
    });
    let mut classes = naming::grouped(measured);
    classes.sort_unstable_by_key(|(distance, _)| *distance);
    let texts = classes.iter().filter_map(|(distance, ns)| {
        let low = ns.iter().copied().reduce(f64::min)?;
        Some(format!("{distance}: {} ns", span(low, ns.iter().copied().fold(low, f64::max))))
    });
    Some(number::joined(texts, ", ")).filter(|texts| !texts.is_empty())
}

/// Triad of a node's CPU in its own memory: `4.7 GB/s`; empty if it was not measured.
fn own_triad(sockets: &Sockets, node: NodeId) -> String {
    let Some(subject) = sockets.subjects.iter().find(|subject| subject.node == Some(node)) else {
        return String::new();
    };
    let of = sockets.bandwidth.iter().find(|one| {
        one.cpu == subject.cpu && one.node == node && one.kernel == "triad" && one.store != "non_temporal"
    });
    of.map_or_else(String::new, |one| format!("{} GB/s", number::short(number::gigabytes(one.bytes_per_s))))
}
