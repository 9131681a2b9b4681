//! Linked sockets and nodes: their graph as a picture, and words that several pages share.

mod graph;

use std::collections::BTreeMap;
use std::fmt::Display;

use models::interconnect::{Alternative, Mesh};
use record::GateVerdict;
use stats::text::{column, joined, listed, short, span};

pub(crate) use graph::{GraphPicture, Reads, draw as draw_graph};

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
