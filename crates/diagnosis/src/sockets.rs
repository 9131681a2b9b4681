//! Measured sockets for the models: the matrix of their nodes, their own memory, and what a model makes of both.

use machine::{CpuId, Machine, NodeId};
use models::interconnect::{
    FirmwareGraph, Matrix, MatrixError, MeasuredSocket, SocketAccount, Unit, account, infer,
};
use record::{NodeLatency, SocketLinks, SocketSubject, Sockets};
use stats::{median, normal_quantile};

/// Level of the interval whose half-width a record's A/A is.
const AA_CONFIDENCE: f64 = 0.95;

/// Latencies by node, over all nodes whose memory was measured: a row is what one CPU of a node reads, unknown where none was measured;
/// a column is the node whose memory it is.
///
/// # Errors
/// No latency at all, more nodes than a matrix may have, or latencies that no machine has.
pub fn node_latencies(sockets: &Sockets) -> Result<Matrix, MatrixError> {
    matrix(sockets, &nodes_with_memory(sockets))
}

/// Latencies by node, over the nodes that have both a CPU that was measured and memory; none with fewer than two.
pub(crate) fn socket_matrix(sockets: &Sockets) -> Option<Matrix> {
    let mut nodes = nodes_with_memory(sockets);
    nodes.retain(|&node| first_subject(sockets, node).is_some());
    if nodes.len() < 2 {
        return None;
    }
    matrix(sockets, &nodes).ok()
}

fn nodes_with_memory(sockets: &Sockets) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = sockets.latency.iter().map(|one| one.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The CPU that stands for a node in a matrix.
fn first_subject(sockets: &Sockets, node: NodeId) -> Option<&SocketSubject> {
    sockets.subjects.iter().find(|subject| subject.node == Some(node))
}

fn matrix(sockets: &Sockets, nodes: &[NodeId]) -> Result<Matrix, MatrixError> {
    let entry = |from: NodeId, to: NodeId| sane(latency(sockets, first_subject(sockets, from)?.cpu, to)?.ns);
    let row = |&from: &NodeId| nodes.iter().map(|&to| entry(from, to)).collect();
    let rows: Vec<Vec<Option<f64>>> = nodes.iter().map(row).collect();
    let numbers = nodes.iter().map(|node| node.0).collect();
    let mut matrix = Matrix::of_rows(Unit::Nanoseconds, &rows)?.numbered(numbers)?;
    matrix.standard_error = standard_error_ns(sockets);
    Ok(matrix)
}

/// What an entry of the matrix errs by: what its own rounds show, and what the same CPU differs from itself by in other parts of the run,
/// which noise that outlasts rounds makes more.
fn standard_error_ns(sockets: &Sockets) -> Option<f64> {
    let typical = |of: fn(&NodeLatency) -> f64| {
        median(&sockets.latency.iter().filter_map(|one| sane(of(one))).collect::<Vec<_>>())
    };
    let within = typical(|one| one.standard_error_ns)?;
    let with_itself = sockets.equality.iter().find(|of| of.quantity == "latency");
    let half_width_errors = normal_quantile(f64::midpoint(1.0, AA_CONFIDENCE));
    let share = with_itself.map_or(0.0, |of| of.aa_half_width / half_width_errors);
    Some(within.hypot(share * typical(|one| one.ns)?))
}

/// What one model makes of the measured sockets; `machine` adds its SLIT where the document holds no links.
pub fn socket_account(sockets: &Sockets, machine: Option<&Machine>) -> SocketAccount {
    let measured: Vec<MeasuredSocket> =
        sockets.subjects.iter().map(|subject| measured(sockets, subject)).collect();
    let mut named: Vec<FirmwareGraph> = sockets.links.iter().map(graph_of).collect();
    if let Some(matrix) = machine.and_then(|machine| Matrix::of_machine(machine).ok())
        && named.is_empty()
    {
        named.push(FirmwareGraph::of_inference("SLIT", &infer(&matrix)));
    }
    account(&measured, socket_matrix(sockets).as_ref(), &named)
}

/// The latency of one CPU to one node.
pub(crate) fn latency(sockets: &Sockets, cpu: CpuId, node: NodeId) -> Option<&NodeLatency> {
    sockets.latency.iter().find(|one| one.cpu == cpu && one.node == node)
}

/// The node whose memory is a CPU's own, if it was measured; where the machine tells of no node, the one that it reaches soonest.
pub(crate) fn own_node(sockets: &Sockets, subject: &SocketSubject) -> Option<NodeId> {
    if subject.node.is_some() {
        return subject.node.filter(|&node| latency(sockets, subject.cpu, node).is_some());
    }
    let of_cpu = sockets.latency.iter().filter(|one| one.cpu == subject.cpu && sane(one.ns).is_some());
    of_cpu.min_by(|a, b| a.ns.total_cmp(&b.ns)).map(|one| one.node)
}

fn measured(sockets: &Sockets, subject: &SocketSubject) -> MeasuredSocket {
    let own = own_node(sockets, subject);
    let triad = sockets.bandwidth.iter().find(|one| {
        one.cpu == subject.cpu && Some(one.node) == own && one.kernel == "triad" && one.store == "plain"
    });
    MeasuredSocket {
        cpu: subject.cpu.0,
        node: own.map(|node| node.0),
        latency_ns: own.and_then(|node| sane(latency(sockets, subject.cpu, node)?.ns)),
        triad_mb_per_s: triad.and_then(|one| sane(one.bytes_per_s / 1e6)),
    }
}

fn graph_of(links: &SocketLinks) -> FirmwareGraph {
    FirmwareGraph {
        source: links.source.clone(),
        undetermined: None,
        nodes: links.nodes.clone(),
        edges: links.edges.clone(),
        eccentricities: Vec::new(),
        probe_depths: Vec::new(),
    }
}

/// Below this share of its unit (nanoseconds, bytes per second) nothing is measured.
const LEAST: f64 = 1e-6;

/// A measured number; none if a file holds what no machine gives.
pub(crate) fn sane(value: f64) -> Option<f64> {
    (value.is_finite() && value >= LEAST).then_some(value)
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use record::{NodeBandwidth, Spread};

    use super::*;

    /// A CPU on node 0 and one on node 1, and node 7 that has memory alone.
    fn sockets() -> Sockets {
        let mut sockets = Sockets::default();
        for cpu in 0..2_u32 {
            sockets.subjects.push(SocketSubject {
                cpu: CpuId(4 * cpu),
                package: None,
                node: Some(NodeId(cpu)),
                stands_for: CpuSet::new(),
            });
            for node in [7_u32, 0, 1] {
                let far = f64::from(node.abs_diff(cpu));
                sockets.latency.push(NodeLatency {
                    cpu: CpuId(4 * cpu),
                    node: NodeId(node),
                    ns: 100.0 + 10.0 * far,
                    standard_error_ns: 0.5,
                    spread: Spread::default(),
                });
                sockets.bandwidth.push(NodeBandwidth {
                    cpu: CpuId(4 * cpu),
                    node: NodeId(node),
                    kernel: "read".to_owned(),
                    isa: String::new(),
                    store: String::new(),
                    bytes_per_s: 10e9 - 1e9 * far,
                    bus_bytes_per_s: 0.0,
                    spread: Spread::default(),
                });
            }
        }
        sockets
    }

    #[test]
    fn another_nodes_memory_is_never_a_cpus_own() {
        let mut reached = sockets();
        reached.latency.retain(|one| one.node != NodeId(0));
        let own = reached.subjects.iter().map(|subject| own_node(&reached, subject)).collect::<Vec<_>>();
        assert_eq!(own, [None, Some(NodeId(1))]);
        reached.subjects[0].node = None;
        assert_eq!(own_node(&reached, &reached.subjects[0]), Some(NodeId(1)), "the one it reaches soonest");
    }

    #[test]
    fn memory_without_a_cpu_has_a_column_and_no_place_in_a_graph() {
        let table = node_latencies(&sockets()).expect("three nodes");
        assert_eq!(table.nodes, [0, 1, 7]);
        let row = |row: usize| [0, 1, 2].map(|column| table.at(row, column));
        assert_eq!(row(0), [Some(100.0), Some(110.0), Some(170.0)]);
        assert_eq!(row(2), [None; 3]);
        assert_eq!(socket_matrix(&sockets()).expect("two nodes").nodes, [0, 1]);
        assert_eq!(node_latencies(&Sockets::default()), Err(MatrixError::Empty));
    }
}
