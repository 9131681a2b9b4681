//! Sockets, nodes and links in words that several pages share.

use std::collections::BTreeMap;
use std::fmt::Display;

use machine::{CpuSet, NodeId};
use models::interconnect::{Alternative, Mesh};
use record::{GateVerdict, SocketSubject, Sockets, SubjectEquality};
use stats::text::{column, joined, listed, short, span};

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

/// The CPUs that take longer than the others (or shorter, by the sign) by their whole interval, and by how much at least and at most.
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

/// `0-1 0-2`.
pub(crate) fn node_links<N: Display>(links: &[[N; 2]]) -> String {
    joined(links.iter().map(|[from, to]| format!("{from}-{to}")), " ")
}

/// What a gate says of all sockets.
pub(crate) const fn verdict_words(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Within => "as expected",
        GateVerdict::Outside => "not as expected",
        GateVerdict::Inconclusive => "inconclusive",
    }
}

/// Rows by how far their farthest is, nearest first; those of which that is unknown are left out.
pub(crate) fn by_distance<R>(rows: &[R], far: impl Fn(&R) -> Option<u32>) -> Vec<(u32, Vec<&R>)> {
    let mut classes: BTreeMap<u32, Vec<&R>> = BTreeMap::new();
    for row in rows {
        if let Some(far) = far(row) {
            classes.entry(far).or_default().push(row);
        }
    }
    classes.into_iter().collect()
}

/// `one link`, `2 links`.
pub(crate) fn links(count: u32) -> String {
    if count == 1 { "one link".to_owned() } else { format!("{count} links") }
}

/// `node 1`, `nodes 0 and 3`, `no node`.
pub(crate) fn numbered(noun: &str, numbers: impl IntoIterator<Item = u32>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    match numbers.as_slice() {
        [] => format!("no {noun}"),
        [one] => format!("{noun} {one}"),
        several => format!("{noun}s {}", listed(several, "and")),
    }
}

/// One reading of the same bandwidths: `102 to 138 ns, 18.0 a link, with 9 lines and allocating stores`.
pub(crate) fn alternative(one: &Alternative) -> String {
    /// Lines of a row of triad: two that are read, and one more where a store reads its line first.
    const LINES_ALLOCATING: f64 = 2.5;
    let latency = span(one.fastest_ns, one.slowest_ns);
    let link = one.hop_round_trip_ns.filter(|_| latency.contains(" to "));
    let link = link.map_or_else(String::new, |ns| format!(", {} a link,", column(ns)));
    let stores = if one.demand_lines_per_row > LINES_ALLOCATING { "allocating" } else { "non-allocating" };
    format!("{latency} ns{link} with {} lines and {stores} stores", one.outstanding_lines)
}

/// Nodes that are clusters of dies, with the unit behind each number: how many, and what reads take.
pub(crate) fn mesh(mesh: &Mesh, unit: &str) -> String {
    let value = |value: f64| format!("{}{unit}", short(value));
    let [base, each] = [mesh.base, mesh.column_step].map(value);
    let (columns, rows) = (mesh.columns, mesh.rows);
    let shape = match mesh.row_step.map(value) {
        Some(row) => format!(
            "{columns} by {rows} clusters: {base} of a cluster's own memory, {each} more per column, {row} more per row"
        ),
        None => {
            format!("{columns} clusters in a row: {base} of a cluster's own memory, {each} more per step")
        }
    };
    match mesh.remote.map(value) {
        Some(remote) => format!(
            "{} packages of {shape}; other packages {remote}, from which cluster their links leave does not show",
            mesh.packages
        ),
        None => format!("one package of {shape}"),
    }
}
