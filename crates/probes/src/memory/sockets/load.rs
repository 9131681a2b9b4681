//! Latency to each node's memory while other CPUs stream in it: what idle latency becomes at work.

use host::live::ensure_room_on_node;
use kernels::Operation;
use machine::{Bytes, CpuId, NodeId};
use record::NodeLoadedLatency;

use super::{HALF_WIDTH, Settings};
use crate::memory::loaded::{self, Chased, under_load};
use crate::room::largest_block;
use crate::session::Session;

/// Quads of idle and loaded visits at most, per number of loaders.
const QUADS_MAX: u32 = 6;
/// A loader's memory: beyond its share of any cache.
const PART: Bytes = Bytes(32 << 20);

/// Measures node by node, each in its share of the time; with what could not be had, in words.
pub(super) fn run(
    session: &mut Session<'_>,
    settings: &Settings,
    block: Bytes,
) -> (Vec<NodeLoadedLatency>, Vec<String>) {
    let nodes: Vec<Option<NodeId>> = match settings.nodes.as_slice() {
        [] => vec![None],
        nodes => nodes.iter().copied().map(Some).collect(),
    };
    let of_each = loaded::Settings {
        operation: Operation::Triad,
        block_max: block,
        quads_max: QUADS_MAX,
        budget_s: settings.budget_s * super::LOAD_SHARE / nodes.len() as f64,
        half_width: HALF_WIDTH,
    };
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for node in nodes {
        if session.must_stop() {
            break;
        }
        let Some((cpu, others)) = team(&settings.subjects, &session.cpus, node) else {
            let what = if session.record.machine.topology.cpus.len() > 1 {
                "allow one with --cpus"
            } else {
                "this machine has one"
            };
            refused.push(format!("latency under load needs a second CPU; {what}"));
            break;
        };
        let load_block = largest_block(&session.record.machine, Bytes(PART.0 * others.len() as u64));
        let bound = settings.bound(node);
        // The loaders take their parts at the same time, each of which would find room enough for itself.
        let room = bound.map(|node| ensure_room_on_node(Bytes(block.0 + load_block.0), node));
        if let Some(Err(error)) = room {
            refused.push(format!("latency under load: {error}"));
            continue;
        }
        let chased = Chased { cpu, others: &others, node: bound, block, load_block };
        let (points, result) = under_load(session, &of_each, &chased);
        refused.extend(result.err().map(|error| format!("latency under load: {error}")));
        let node = node.unwrap_or(NodeId(0));
        rows.extend(points.into_iter().map(|point| NodeLoadedLatency { node, point }));
    }
    (rows, refused)
}

/// Who chases in a node's memory, a CPU of its own if one was chosen, and who streams: the CPUs that the subjects of the node stand
/// for, else all others.
fn team(
    subjects: &[record::SocketSubject],
    cpus: &[CpuId],
    node: Option<NodeId>,
) -> Option<(CpuId, Vec<CpuId>)> {
    let is_of = |subject: &&record::SocketSubject| node.is_some() && subject.node == node;
    let cpu = subjects.iter().find(is_of).or(subjects.first())?.cpu;
    let near: Vec<CpuId> = subjects.iter().filter(is_of).flat_map(|of| of.stands_for.iter()).collect();
    let others = |from: &[CpuId]| from.iter().copied().filter(|&other| other != cpu).collect::<Vec<_>>();
    let near: Vec<CpuId> = others(&near).into_iter().filter(|other| cpus.contains(other)).collect();
    let others = if near.is_empty() { others(cpus) } else { near };
    (!others.is_empty()).then_some((cpu, others))
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;
    use record::SocketSubject;

    use super::*;

    #[test]
    fn cpus_of_the_node_stream_and_where_it_has_none_all_do() {
        let subject = |cpu: u32| SocketSubject {
            cpu: CpuId(cpu),
            package: None,
            node: Some(NodeId(cpu / 4)),
            stands_for: (cpu..cpu + 4).map(CpuId).collect::<CpuSet>(),
        };
        let subjects = [subject(0), subject(4)];
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let of = |node| team(&subjects, &cpus, node).map(|(cpu, others)| (cpu.0, others.len()));
        assert_eq!(of(Some(NodeId(1))), Some((4, 3)));
        assert_eq!((of(Some(NodeId(7))), of(None)), (Some((0, 7)), Some((0, 7))));
        assert_eq!(team(&subjects, &[CpuId(0)], Some(NodeId(0))), None);
    }
}
