//! A triad event by event: requests, probes and answers travel link by link, and a full core waits.
//!
//! The closed form says that bandwidth is lines under way over latency. Here nothing is assumed of either: a core issues
//! lines in order while it has room, probes spread over the tree that broadcasts take, a line is there when its data and
//! all answers are. Both must agree.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::graph::{Graph, Hops};
use super::latency::{Coherence, ReadTimes};

/// Time in thousandths of a nanosecond, so that events have an order.
type Picoseconds = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A probe for a line reaches a node, from the node before it.
    Probe { line: usize, node: usize, from: usize },
    /// One of the things that a line waits for is there.
    Arrival { line: usize },
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// The socket of the core and of its memory.
    pub(super) socket: usize,
    /// Lines under way at most.
    pub(super) outstanding_lines: usize,
    /// Lines in all.
    pub(super) lines: usize,
}

/// Lines per nanosecond once the first are back.
pub(super) fn lines_per_ns(
    graph: &Graph,
    hops: &Hops,
    times: ReadTimes,
    coherence: Coherence,
    load: Load,
) -> f64 {
    let picoseconds = |ns: f64| (ns * 1e3).round() as Picoseconds;
    let (hop, dram, probe) =
        (picoseconds(times.hop_ns), picoseconds(times.dram_ns), picoseconds(times.probe_ns.max(0.0)));
    let waits = if coherence == Coherence::Broadcast { 1 + graph.nodes() } else { 1 };
    let mut queue: BinaryHeap<Reverse<(Picoseconds, Event)>> = BinaryHeap::new();
    let mut missing: BTreeMap<usize, usize> = BTreeMap::new();
    let mut issued = 0;
    let mut completed: Vec<Picoseconds> = Vec::new();
    let issue = |at, line, queue: &mut BinaryHeap<_>, missing: &mut BTreeMap<usize, usize>| {
        missing.insert(line, waits);
        queue.push(Reverse((at + dram, Event::Arrival { line })));
        if coherence == Coherence::Broadcast {
            queue.push(Reverse((at + probe, Event::Probe { line, node: load.socket, from: load.socket })));
        }
    };
    while issued < load.outstanding_lines.min(load.lines) {
        issue(0, issued, &mut queue, &mut missing);
        issued += 1;
    }
    while let Some(Reverse((at, event))) = queue.pop() {
        match event {
            Event::Probe { line, node, from } => {
                // The tree of a broadcast: on to those that this node is on the first shortest way to.
                for next in graph.neighbours(node).filter(|&next| next != from) {
                    let depth = hops.between(load.socket, next);
                    let first =
                        graph.neighbours(next).find(|&before| hops.between(load.socket, before) + 1 == depth);
                    if first == Some(node) {
                        queue.push(Reverse((at + hop, Event::Probe { line, node: next, from: node })));
                    }
                }
                let back = hop * Picoseconds::from(hops.between(node, load.socket));
                queue.push(Reverse((at + back, Event::Arrival { line })));
            }
            Event::Arrival { line } => {
                let left = missing.get_mut(&line).expect("a line waits until all is there");
                *left -= 1;
                if *left == 0 {
                    missing.remove(&line);
                    completed.push(at);
                    if issued < load.lines {
                        issue(at, issued, &mut queue, &mut missing);
                        issued += 1;
                    }
                }
            }
        }
    }
    let first = completed[load.outstanding_lines - 1];
    let last = completed[completed.len() - 1];
    (completed.len() - load.outstanding_lines) as f64 * 1e3 / (last - first).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::graph::connected_graphs;
    use super::*;

    #[test]
    fn the_closed_form_holds_on_every_graph_of_four_nodes() {
        let times = ReadTimes { probe_ns: 66.0, dram_ns: 74.0, hop_ns: 18.0 };
        for (graph, hops) in connected_graphs(4) {
            for coherence in [Coherence::Broadcast, Coherence::ProbeFilter] {
                for socket in 0..4 {
                    let load = Load { socket, outstanding_lines: 8, lines: 400 };
                    let found = lines_per_ns(&graph, &hops, times, coherence, load);
                    let expected = 8.0 / times.read_ns(&hops, coherence, socket, socket);
                    assert!((found / expected - 1.0).abs() < 1e-6, "{graph:?} {coherence:?} {socket}");
                }
            }
        }
    }
}
