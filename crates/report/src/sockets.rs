//! What several pages say and draw of measured sockets: figures, the section of the check-up's page, words.

mod figures;
mod links;
mod page;
mod words;

use machine::NodeId;
use record::{SocketSubject, Sockets};

use crate::naming;
pub(crate) use figures::{bandwidth, graph, latency, links, read_map, together};
pub(crate) use page::{head, section};
pub(crate) use words::{asymmetry_words, flight_doubts, likeness_words, nodes_words, subjects_words};

/// Kernels with their kinds of store, in the order measured.
pub(crate) fn kernels(sockets: &Sockets) -> Vec<(&str, &str)> {
    naming::distinct(sockets.bandwidth.iter().map(|one| (one.kernel.as_str(), one.store.as_str())))
}

/// The node whose memory is a CPU's own, if it was measured; where the machine tells of no node, the one that it reaches soonest.
pub(crate) fn own_node(sockets: &Sockets, subject: &SocketSubject) -> Option<NodeId> {
    let mut of_cpu = sockets.latency.iter().filter(|one| one.cpu == subject.cpu);
    match subject.node {
        Some(own) => of_cpu.any(|one| one.node == own).then_some(own),
        None => of_cpu.min_by(|a, b| a.ns.total_cmp(&b.ns)).map(|one| one.node),
    }
}
