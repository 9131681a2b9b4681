//! Linked sockets and nodes: their graph as a picture, and words that several pages share.

mod graph;

use std::collections::BTreeMap;
use std::fmt::Display;

use models::interconnect::Alternative;
use record::GateVerdict;

pub(crate) use graph::{GraphPicture, Reads, draw as draw_graph};

/// `0-1 0-2`.
pub(crate) fn node_links<N: Display>(links: &[[N; 2]]) -> String {
    links.iter().map(|[from, to]| format!("{from}-{to}")).collect::<Vec<_>>().join(" ")
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

/// Which stores a reading of the same bandwidths takes for granted.
pub(crate) fn stores_words(one: &Alternative) -> &'static str {
    /// Lines of a row of triad: two that are read, and one more where a store reads its line first.
    const LINES_ALLOCATING: f64 = 2.5;
    if one.demand_lines_per_row > LINES_ALLOCATING { "allocating stores" } else { "non-allocating stores" }
}
