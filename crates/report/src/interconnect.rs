//! Linked sockets and nodes: their graph as a picture and for other programs, and words that several pages share.

mod firmware;
mod graph;
mod hwloc;

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use models::interconnect::{Alternative, Matrix, Unit};
use record::GateVerdict;

pub use firmware::{DomainClaim, FirmwareLinks, MemoryClaim, PciClaim};
pub(crate) use graph::draw as draw_graph;
pub use graph::{GraphPicture, Reads, graph_dot, graph_svg};
pub use hwloc::{HwlocNumbers, hwloc_xml};

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

/// A matrix as CSV that can be read again.
pub fn matrix_csv(matrix: &Matrix) -> String {
    let unit = if matrix.unit == Unit::Distance { "distance" } else { matrix.unit.name() };
    let nodes: Vec<String> = matrix.nodes.iter().map(u32::to_string).collect();
    let mut text = format!("# unit: {unit}\n# nodes: {}\n", nodes.join(" "));
    if let Some(error) = matrix.standard_error {
        let _ = writeln!(text, "# error: {error}");
    }
    for row in 0..matrix.count() {
        let cell = |column| matrix.at(row, column).map_or_else(String::new, |value| value.to_string());
        text += &(0..matrix.count()).map(cell).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_as_csv_is_read_again() {
        let text = "# unit: cycles\n# nodes: 0 3\n# error: 1.5\n80,130.25\n,81\n";
        let read = models::interconnect::read_matrix(text).expect("a matrix").matrix;
        assert_eq!((read.nodes.as_slice(), matrix_csv(&read).as_str()), ([0, 3].as_slice(), text));
    }
}
