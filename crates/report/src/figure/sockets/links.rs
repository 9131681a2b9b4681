//! The links that an account of measured sockets goes over, as a picture, and the distances of firmware beside what was measured.

use machine::{Machine, NodeId};
use models::interconnect::{Explanation, Graph, SocketAccount};
use record::Sockets;
use stats::text::span;

use crate::interconnect::{GraphPicture, Reads};
use crate::{naming, number};

/// The graph with the reads of each node; none if neither latencies nor hardware tell one.
pub(super) fn picture(sockets: &Sockets, account: &SocketAccount) -> Option<GraphPicture> {
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
pub(super) fn predicted(account: &SocketAccount) -> Vec<Vec<Option<f64>>> {
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
    let texts = texts.collect::<Vec<String>>().join(", ");
    (!texts.is_empty()).then_some(texts)
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
