//! The verdict on sockets in a line, for the summary and the page.

use machine::{CpuSet, NodeId};
use record::{SocketSubject, Sockets, SubjectEquality};

use crate::interconnect::numbered;
use crate::{naming, number};

/// CPUs that are named; of more, their number is given.
const CPUS_NAMED: usize = 8;

/// What was not measured of the machine's nodes, or cannot be, in a sentence; none where the memory of all was measured.
pub(super) fn nodes_words(sockets: &Sockets) -> Option<String> {
    let is_measured = |node: &NodeId| sockets.latency.iter().any(|one| one.node == *node);
    let (measured, left): (Vec<NodeId>, Vec<NodeId>) =
        sockets.machine_nodes.iter().copied().partition(is_measured);
    let listed = |nodes: &[NodeId]| numbered("node", nodes.iter().map(|node| node.0));
    let mut of_all: Vec<NodeId> = sockets.latency.iter().map(|one| one.node).collect();
    of_all.dedup();
    match (sockets.machine_nodes.len(), measured.len()) {
        (0, _) if of_all.len() > 1 => None,
        (0, _) => Some(
            "How many nodes there are is unknown, as none were read: all memory was measured as one."
                .to_owned(),
        ),
        (1, _) => Some(
            "There is one node: no memory is nearer than other memory, and there are no links between nodes."
                .to_owned(),
        ),
        (_, _) if left.is_empty() => None,
        (all, 0 | 1) => Some(format!(
            "Of {all} nodes only the memory of {} was measured: which memory is nearer, and which links there are, is unknown. The memory \
             of {} is none, may not be used, or was not reached in the time.",
            listed(&measured),
            listed(&left)
        )),
        _ => Some(format!(
            "Not measured: {}, which have no memory, none that may be used, or were not reached in the time.",
            listed(&left)
        )),
    }
}

/// The node whose memory is a CPU's own, if it was measured; where the machine has no node, the one that it reaches soonest.
pub(super) fn own_node(sockets: &Sockets, subject: &SocketSubject) -> Option<NodeId> {
    let mut of_cpu = sockets.latency.iter().filter(|one| one.cpu == subject.cpu);
    match subject.node {
        Some(own) => of_cpu.any(|one| one.node == own).then_some(own),
        None => of_cpu.min_by(|a, b| a.ns.total_cmp(&b.ns)).map(|one| one.node),
    }
}

/// `2 CPUs in their own memory`, or how many of them were measured there.
pub(super) fn subjects_words(sockets: &Sockets) -> String {
    let count = sockets.subjects.len();
    let own = sockets.subjects.iter().filter(|subject| own_node(sockets, subject).is_some()).count();
    let cpus = number::count(count, "CPU");
    match own {
        0 if !sockets.latency.is_empty() => format!("{cpus}, none of them measured in its own memory"),
        some if some < count && some > 0 => format!("{cpus}, {some} of them measured in its own memory"),
        _ => format!("{cpus} in {} own memory", if count == 1 { "its" } else { "their" }),
    }
}

/// `lines at once of CPUs 0-3: more than ...`, a line for each doubt.
pub(super) fn flight_doubts(sockets: &Sockets) -> Vec<String> {
    let doubted = sockets.concurrency.iter().filter_map(|one| Some((one.doubt.as_deref()?, one.cpu)));
    let texts = naming::grouped(doubted).into_iter().map(|(doubt, cpus)| {
        let cpus: CpuSet = cpus.into_iter().collect();
        format!("lines at once of {}: {doubt}", naming::cpus(&cpus))
    });
    texts.collect()
}

/// `2 CPUs in their own memory, latency within ±2.3 %, triad within ±1.1 %`
pub(super) fn likeness_words(sockets: &Sockets) -> String {
    let within = sockets.equality.iter().map(|of| {
        let farthest = of.rows.iter().map(|row| (row.ratio - 1.0).abs()).fold(0.0, f64::max);
        format!("{} within ±{}", of.quantity, number::percent(farthest))
    });
    number::joined(std::iter::once(subjects_words(sockets)).chain(within), ", ")
}

/// `latency 15.1 to 17.0 % longer on CPUs 0,12; triad 13.9 to 15.2 % longer on CPUs 0,12`
pub(super) fn asymmetry_words(sockets: &Sockets) -> String {
    let of = |of: &SubjectEquality| {
        let texts = number::joined([1.0, -1.0].into_iter().filter_map(|sign| beyond(of, sign)), ", ");
        (!texts.is_empty()).then(|| format!("{} {texts}", of.quantity))
    };
    number::joined(sockets.equality.iter().filter_map(of), "; ")
}

/// The CPUs that take longer than the others (or shorter, by the sign) beyond doubt, and by how much at least and at most.
fn beyond(of: &SubjectEquality, sign: f64) -> Option<String> {
    let rows = || of.rows.iter().filter(|row| row.differs && (row.ratio - 1.0) * sign > 0.0);
    let cpus: CpuSet = rows().map(|row| row.cpu).collect();
    let first = cpus.first()?;
    let ends =
        rows().flat_map(|row| [row.interval.low, row.interval.high]).map(|end| 100.0 * sign * (end - 1.0));
    let (low, high) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
    let than = if sign > 0.0 { "longer" } else { "shorter" };
    let whom = match cpus.len() {
        few if few <= CPUS_NAMED => naming::cpus(&cpus),
        many => format!("{many} CPUs, such as {first}"),
    };
    Some(format!("{low:.1} to {high:.1} % {than} on {whom}"))
}
