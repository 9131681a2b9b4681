//! What Intel's Memory Latency Checker prints: idle latencies between nodes.

use super::{Matrix, MatrixReading, ReadingError, Rows, Unit, of_several, shortened};
use crate::interconnect::matrix::{MatrixError, NODES_MAX};

const FORMAT: &str = "MLC";
/// How the heads of the tables begin.
const LATENCIES: &str = "Measuring idle latencies";
const BANDWIDTHS: &str = "Measuring Memory Bandwidths between nodes";

/// A table with the numbers of its nodes.
struct Table {
    nodes: Vec<u32>,
    rows: Rows,
    /// Nodes without a row.
    rowless: Vec<u32>,
    /// A row lacks values.
    is_short: bool,
    /// Something stands behind the last row.
    is_ended: bool,
}

impl Table {
    /// Whether it ends before its end, where these nodes have no row as a rule.
    fn is_cut_off(&self, rowless: &[u32]) -> bool {
        self.is_short || (!self.is_ended && self.rowless != rowless)
    }
}

pub(super) fn read(text: &str) -> Result<MatrixReading, ReadingError> {
    let missing = ReadingError::Missing { format: FORMAT, what: "table of idle latencies between nodes" };
    let mut table = table(text, LATENCIES)?.ok_or(missing)?;
    let (unit, factor) = unit(text)?;
    table.rows.iter_mut().flatten().flatten().for_each(|value| *value *= factor);
    let matrix = Matrix::of_rows(unit, &table.rows)?.numbered(table.nodes.clone())?;
    let mut remarks: Vec<String> = of_several(text.matches(LATENCIES).count()).into_iter().collect();
    let rowless = &table.rowless;
    if table.is_cut_off(&[]) {
        remarks.push("the table of latencies is cut off".to_owned());
    } else if !rowless.is_empty() {
        let (nodes, is) = if rowless.len() == 1 { ("node", "is") } else { ("nodes", "are") };
        let numbers = rowless.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        remarks
            .push(format!("{nodes} {numbers} {is} memory only: MLC prints no row for a node without CPUs"));
    }
    // The last table that is printed: where it is cut off, so was the run.
    let bandwidth = self::table(text, BANDWIDTHS)?.filter(|bandwidth| bandwidth.nodes == matrix.nodes);
    if bandwidth.is_some_and(|bandwidth| bandwidth.is_cut_off(rowless)) {
        remarks.push("the table of bandwidths is cut off".to_owned());
    }
    Ok(MatrixReading { format: FORMAT, matrix, remarks })
}

/// What the values count by the head of the table, `(in ns)`, and the factor to it.
fn unit(text: &str) -> Result<(Unit, f64), ReadingError> {
    let head = text.lines().zip(1..).find(|(line, _)| line.contains(LATENCIES));
    let named = head.and_then(|(line, number)| Some((line.split_once("(in ")?.1.split_once(')')?.0, number)));
    match named {
        None | Some(("ns", _)) => Ok((Unit::Nanoseconds, 1.0)),
        Some(("us" | "µs", _)) => Ok((Unit::Nanoseconds, 1e3)),
        Some(("cycles" | "clocks" | "clks", _)) => Ok((Unit::Cycles, 1.0)),
        Some((other, number)) => Err(ReadingError::Wrong {
            format: FORMAT,
            place: format!("line {number}"),
            problem: format!("{:?} is no unit of latencies: ns, us or cycles", shortened(other)),
        }),
    }
}

/// The table under a head: a line with the nodes of the columns, then a line per node.
fn table(text: &str, head: &str) -> Result<Option<Table>, ReadingError> {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !line.contains(head)).skip(1);
    let columns = |line: &str| -> Option<Vec<u32>> {
        let nodes: Vec<u32> = line
            .trim()
            .strip_prefix("Numa node")?
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        (!nodes.is_empty()).then_some(nodes)
    };
    let Some(nodes) = lines
        .by_ref()
        .take_while(|(_, line)| !line.starts_with("Measuring"))
        .find_map(|(_, line)| columns(line))
    else {
        return Ok(None);
    };
    if nodes.len() > NODES_MAX {
        return Err(MatrixError::TooLarge(nodes.len()).into());
    }
    let mut rows: Rows = vec![vec![None; nodes.len()]; nodes.len()];
    let mut rowless = nodes.clone();
    let mut is_short = false;
    let mut is_ended = false;
    // The row that is not full yet: its place, and how many values it has.
    let mut last: Option<(usize, usize)> = None;
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let node = words.clone().next().and_then(|word| word.parse::<u32>().ok());
        let new = node.and_then(|node| nodes.iter().position(|one| *one == node));
        // A terminal was too narrow: what goes on is no node.
        let goes_on =
            last.filter(|_| new.is_none() && words.clone().all(is_value) && !line.trim().is_empty());
        let Some((at, have)) = goes_on.or(new.map(|at| (at, 0))) else {
            is_ended = true;
            break;
        };
        if goes_on.is_none() {
            is_short |= last.is_some();
            words.next();
            rowless.retain(|one| *one != nodes[at]);
            rows[at] = Vec::new();
        }
        rows[at].truncate(have);
        rows[at].extend(words.map(|word| value(word, number + 1)).collect::<Result<Vec<_>, _>>()?);
        let have = rows[at].len();
        last = (have < nodes.len()).then_some((at, have));
        rows[at].resize(nodes.len(), None);
    }
    is_short |= last.is_some();
    Ok(Some(Table { nodes, rows, rowless, is_short, is_ended }))
}

fn is_value(word: &str) -> bool {
    value(word, 0).is_ok()
}

fn value(word: &str, line: usize) -> Result<Option<f64>, ReadingError> {
    if word == "-" {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| ReadingError::Wrong {
        format: FORMAT,
        place: format!("line {line}"),
        problem: format!("{:?} is no number", shortened(word)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Intel(R) Memory Latency Checker - v3.1a\nMeasuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t 0\t 2\t\n 0\t 73.8\t 151.1\t\n 2\t 141.1\t 76.5\t\n\nMeasuring Memory Bandwidths between nodes within system \nUsing Read-only traffic type\n\t\tNuma node\nNuma node\t 0\t 2\t\n 0\t 36481.7\t 18909.5\t\n 2\t 20194.2\t";

    #[test]
    fn tables_are_read_with_the_numbers_of_their_nodes() {
        let read = read(TEXT).expect("a table");
        assert_eq!((read.matrix.nodes.as_slice(), read.matrix.at(1, 0)), ([0, 2].as_slice(), Some(141.1)));
        assert_eq!(read.remarks, ["the table of bandwidths is cut off"]);
    }

    #[test]
    fn a_node_without_a_row_is_memory_only_where_the_table_goes_on_or_ends() {
        let text = TEXT.replacen(" 2\t 141.1\t 76.5\t\n", "", 1).replace("\n 2\t 20194.2\t", "");
        let read = read(&text).expect("a table");
        assert_eq!(read.remarks, ["node 2 is memory only: MLC prints no row for a node without CPUs"]);
        assert_eq!((read.matrix.at(0, 1), read.matrix.at(1, 1)), (Some(151.1), None));
    }

    #[test]
    fn other_units_and_rows_that_were_wrapped_are_read() {
        let micro = read(&TEXT.replace("(in ns)", "(in us)")).expect("a table").matrix;
        assert_eq!((micro.unit, micro.at(0, 0)), (Unit::Nanoseconds, Some(73_800.0)));
        assert_eq!(read(&TEXT.replace("(in ns)", "(in clocks)")).expect("a table").matrix.unit, Unit::Cycles);
        let odd = read(&TEXT.replace("(in ns)", "(in miles)")).expect_err("no unit").to_string();
        assert!(odd.contains("line 2") && odd.contains("\"miles\" is no unit"), "{odd}");
        let wrapped = TEXT.replace("73.8\t 151.1", "73.8\n 151.1").replace("141.1\t 76.5", "141.1\n\t76.5");
        assert_eq!(read(&wrapped), read(TEXT));
    }

    #[test]
    fn what_is_missing_or_wrong_is_an_error() {
        let missing = read("Intel(R) Memory Latency Checker - v3.1a\nMeasuring Peak\n");
        assert!(missing.is_err_and(|error| error.to_string().contains("no table of idle latencies")));
        let wrong = read(&TEXT.replace("73.8", "7x"));
        assert!(wrong.is_err_and(|error| error.to_string().contains("line 5: \"7x\" is no number")));
        let cut = read(TEXT.split_once(" 2\t 141").expect("rows").0).expect("half a table");
        assert!(cut.matrix.at(1, 1).is_none() && cut.remarks[0].contains("cut off"));
    }
}
