//! hwloc's XML, versions 2 and 3: distances between NUMA nodes, from firmware or from a user's measurement.
//!
//! `kind` of an element `distances2` adds 1 (from the system), 2 (from a user), 4 (latency) and 8 (bandwidth): hwloc,
//! include/hwloc/distances.h.

use super::{Matrix, MatrixReading, ReadingError, Rows, Unit};
use crate::interconnect::matrix::{MatrixError, NODES_MAX, UNREACHABLE};

const FORMAT: &str = "hwloc XML";
const FROM_USER: u32 = 2;
const MEANS_LATENCY: u32 = 4;

pub(super) fn read(text: &str) -> Result<MatrixReading, ReadingError> {
    // hwloc names a document type; it has no entities of its own.
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
        let at = error.pos();
        wrong(format!("line {}, column {}", at.row, at.col), error.to_string())
    })?;
    let kind = |node: &roxmltree::Node| {
        node.attribute("kind").and_then(|kind| kind.parse::<u32>().ok()).unwrap_or(0)
    };
    let tables = document.descendants().filter(|node| {
        node.has_tag_name("distances2")
            && node.attribute("type") == Some("NUMANode")
            && kind(node) & MEANS_LATENCY != 0
    });
    // What a user measured says more than what firmware claims.
    let table = tables.max_by_key(|node| kind(node) & FROM_USER);
    let table =
        table.ok_or(ReadingError::Missing { format: FORMAT, what: "latency distances2 of NUMA nodes" })?;
    let is_measured = kind(&table) & FROM_USER != 0;
    let nodes: Vec<u32> = numbers(&table, "indexes")?;
    let values: Vec<f64> = numbers(&table, "u64values")?;
    if nodes.len() > NODES_MAX {
        return Err(MatrixError::TooLarge(nodes.len()).into());
    }
    if nodes.is_empty() || values.len() != nodes.len() * nodes.len() {
        let problem = format!("{} values for {} nodes", values.len(), nodes.len());
        return Err(wrong("distances2".to_owned(), problem));
    }
    let known = |value: &f64| (is_measured || *value < f64::from(UNREACHABLE)).then_some(*value);
    let rows: Rows = values.chunks(nodes.len()).map(|row| row.iter().map(known).collect()).collect();
    let unit = if is_measured { Unit::Nanoseconds } else { Unit::Distance };
    let matrix = Matrix::of_rows(unit, &rows)?.numbered(nodes)?;
    let name = table.attribute("name").unwrap_or("without a name");
    let remarks = vec![format!("distances {}", super::shortened(name))];
    Ok(MatrixReading { format: FORMAT, matrix, cpus: None, bandwidth_mb_per_s: None, remarks })
}

fn wrong(place: String, problem: String) -> ReadingError {
    ReadingError::Wrong { format: FORMAT, place, problem }
}

/// The numbers in all children of that name; long lists are split over several.
fn numbers<T: std::str::FromStr>(table: &roxmltree::Node, name: &str) -> Result<Vec<T>, ReadingError> {
    let texts = table.children().filter(|child| child.has_tag_name(name)).filter_map(|child| child.text());
    let words = texts.flat_map(str::split_whitespace);
    // A type can stand before an index: NUMANode:3.
    let parsed = words.map(|word| word.rsplit(':').next().unwrap_or(word).parse().map_err(|_| word));
    let parsed: Result<Vec<T>, &str> = parsed.collect();
    parsed.map_err(|word| wrong(name.to_owned(), format!("{:?} is no number", super::shortened(word))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<?xml version=\"1.0\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology version=\"2.0\"><object type=\"Machine\"/>\
        <distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\"><indexes length=\"4\">0 3 </indexes>\
        <u64values length=\"10\">10 20 </u64values><u64values length=\"10\">20 10 </u64values></distances2></topology>";

    #[test]
    fn firmware_and_measured_distances_are_told_apart() {
        let slit = read(TEXT).expect("distances").matrix;
        assert_eq!(
            (slit.unit, slit.nodes.as_slice(), slit.at(1, 0)),
            (Unit::Distance, [0, 3].as_slice(), Some(20.0))
        );
        let measured = read(&TEXT.replace("kind=\"5\"", "kind=\"6\"")).expect("distances").matrix;
        assert_eq!(measured.unit, Unit::Nanoseconds);
    }

    #[test]
    fn what_is_missing_or_wrong_is_told() {
        for (text, said) in [
            ("<topology/>".to_owned(), "no latency distances2"),
            ("<topology>".to_owned(), "line 1"),
            (TEXT.replace("10 20 <", "10 <"), "3 values for 2 nodes"),
            (TEXT.replace("10 20 <", "10 x <"), "\"x\" is no number"),
        ] {
            let error = read(&text).expect_err(said).to_string();
            assert!(error.contains("hwloc XML") && error.contains(said), "{error}");
        }
    }
}
