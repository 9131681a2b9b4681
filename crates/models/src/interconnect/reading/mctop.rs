//! A machine as MCTOP describes it (`.mct`): latencies by hardware context and node, in cycles.
//!
//! Contexts are counted to the node whose memory they reach soonest, as the file does not say where they sit; an entry is
//! the median of a node's contexts. A latency of 0 was not measured. Latencies between contexts are kept beside those of nodes.

use std::collections::BTreeMap;

use super::{Matrix, MatrixReading, ReadingError, Rows, Unit};
use crate::interconnect::matrix::{MEMBERS_MAX, MatrixError, NODES_MAX};

const FORMAT: &str = "MCTOP";

/// A line of a section: two numbers and a value.
type Triple = (usize, usize, f64);

pub(super) fn read(text: &str) -> Result<MatrixReading, ReadingError> {
    let latencies = section(text, "Mem_latencies");
    let cpus = between_contexts(&section(text, "Nodes"))?;
    if latencies.is_empty() {
        let matrix = cpus.ok_or(ReadingError::Missing { format: FORMAT, what: "section #Mem_latencies" })?;
        return Ok(MatrixReading {
            format: FORMAT,
            matrix,
            cpus: None,
            bandwidth_mb_per_s: None,
            remarks: Vec::new(),
        });
    }
    let nodes = latencies.iter().map(|(_, node, _)| node + 1).max().unwrap_or(0);
    if nodes > NODES_MAX {
        return Err(MatrixError::TooLarge(nodes).into());
    }
    let mut contexts: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (context, node, cycles) in latencies.into_iter().filter(|(_, _, cycles)| *cycles > 0.0) {
        contexts.entry(context).or_default().push((node, cycles));
    }
    let mut gathered: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for measured in contexts.values() {
        let Some((home, _)) = measured.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        for (node, cycles) in measured {
            gathered.entry((*home, *node)).or_default().push(*cycles);
        }
    }
    let median = |row, column| gathered.get(&(row, column)).and_then(|values| stats::median(values));
    let row = |row| (0..nodes).map(|column| median(row, column)).collect();
    let rows: Rows = (0..nodes).map(row).collect();
    let matrix = Matrix::of_rows(Unit::Cycles, &rows)?;
    let remarks = vec![format!("{} hardware contexts were measured", contexts.len())];
    let bandwidth_mb_per_s = bandwidth(&section(text, "Mem_bw1-READ"), nodes);
    Ok(MatrixReading { format: FORMAT, matrix, cpus, bandwidth_mb_per_s, remarks })
}

/// The table of contexts, which follows the first line; none if it tells of no two.
fn between_contexts(latencies: &[Triple]) -> Result<Option<Matrix>, MatrixError> {
    let count = latencies.iter().map(|(one, other, _)| *one.max(other)).max().unwrap_or(0).saturating_add(1);
    if count > MEMBERS_MAX {
        return Err(MatrixError::TooLarge(count));
    }
    if count < 2 {
        return Ok(None);
    }
    let mut rows: Rows = vec![vec![None; count]; count];
    for (one, other, cycles) in latencies {
        rows[*one][*other] = Some(*cycles);
    }
    Ok(Some(Matrix::of_rows(Unit::Cycles, &rows)?.of_cpus()))
}

/// The lines of a section; a header can follow what is before it without a line break.
fn section(text: &str, name: &str) -> Vec<Triple> {
    let sections = text.split('#').filter(|section| section.split_whitespace().next() == Some(name));
    let triple = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next()?.parse().ok()?;
        let second = words.next()?.parse().ok()?;
        let value: f64 = words.next()?.parse().ok()?;
        (value.is_finite() && second < usize::MAX).then_some((first, second, value))
    };
    sections.flat_map(|section| section.lines().skip(1).filter_map(triple)).collect()
}

fn bandwidth(triples: &[Triple], nodes: usize) -> Option<Rows> {
    /// The file has GB/s.
    const MB_PER_GB: f64 = 1e3;
    let mut rows = vec![vec![None; nodes]; nodes];
    for (row, column, gb_per_s) in triples.iter().filter(|(row, column, _)| row.max(column) < &nodes) {
        rows[*row][*column] = (*gb_per_s > 0.0).then_some(gb_per_s * MB_PER_GB);
    }
    rows.iter().flatten().any(Option::is_some).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_gathered_by_their_nearest_node() {
        let text = "#two #HWCs 4 #Nodes 2 SMT 0\n0 1 100\n#Mem_latencies 2\n0 0 259\n0 1 505\n1 0 0\n1 1 0\n2 0 501\n2 1 261\n3 0 503\n3 1 263\n#Mem_bw1-READ 2\n0 0 9.5\n0 1 4.5\n1 0 4.4\n1 1 9.6#Cache_levels 1\n";
        let read = read(text).expect("two nodes");
        assert_eq!(
            read.matrix.known().collect::<Vec<_>>(),
            [(0, 0, 259.0), (0, 1, 505.0), (1, 0, 502.0), (1, 1, 262.0)]
        );
        assert_eq!(read.bandwidth_mb_per_s.expect("bandwidth")[1][1], Some(9600.0));
    }

    #[test]
    fn what_is_missing_or_absurd_is_told() {
        assert!(read("#x #HWCs 1\n0 0 0\n").is_err_and(|error| error.to_string().contains("#Mem_latencies")));
        let text = "#x #HWCs 1\n#Mem_latencies 1\n0 4000000000 5\n";
        assert!(read(text).is_err_and(|error| error.to_string().contains("4000000001 rows")));
        assert!(read("#x #HWCs 1\n#Mem_latencies 1\n0 18446744073709551615 5\n").is_err());
    }
}
