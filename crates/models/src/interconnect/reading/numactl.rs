//! What `numactl -H` prints: distances of ACPI SLIT between nodes, in no unit, where 255 is no connection.

use super::{Matrix, MatrixReading, ReadingError, of_several};

const FORMAT: &str = "numactl -H";

/// The numbers of the columns, on a line `node   0   1`.
fn columns(line: &str) -> Option<Vec<u32>> {
    let numbers =
        line.trim().strip_prefix("node ")?.split_whitespace().map(str::parse).collect::<Result<_, _>>();
    numbers.ok().filter(|numbers: &Vec<u32>| !numbers.is_empty())
}

/// The node of a row and what stands behind it: `0:  10  21`.
fn row(line: &str) -> Option<(u32, &str)> {
    let (node, rest) = line.split_once(':')?;
    Some((node.trim().parse().ok()?, rest))
}

/// Whether a text is such: columns, with a row that begins with a colon on the next line.
pub(super) fn is(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| columns(line).is_some()) && lines.next().is_some_and(|line| row(line).is_some())
}

pub(super) fn read(text: &str) -> Result<MatrixReading, ReadingError> {
    let mut lines = text.lines().enumerate();
    let mut nodes = lines.by_ref().find_map(|(_, line)| columns(line)).unwrap_or_default();
    let mut rows: Vec<(u32, Vec<u32>)> = Vec::new();
    for (number, line) in lines.take_while(|(_, line)| !line.trim().is_empty()) {
        let rest = match row(line) {
            Some((node, rest)) => {
                rows.push((node, Vec::new()));
                rest
            }
            None => line,
        };
        let values: Result<Vec<u32>, _> = rest.split_whitespace().map(str::parse).collect();
        match (values, rows.last_mut()) {
            // A line without a colon goes on with the one above it: a terminal was too narrow.
            (Ok(values), None) => nodes.extend(values),
            (Ok(values), Some((_, row))) => row.extend(values),
            // Prompts and what was typed at them stand behind the table.
            (Err(_), _) if row(line).is_none() => break,
            (Err(_), _) => {
                let (place, problem) = (format!("line {}", number + 1), "a distance is no number".to_owned());
                return Err(ReadingError::Wrong { format: FORMAT, place, problem });
            }
        }
    }
    let is_same = rows.iter().map(|(node, _)| node).eq(&nodes);
    let place = "the table of distances".to_owned();
    if !is_same {
        let problem = format!("it has {} columns, and rows of other nodes; copy all of it", nodes.len());
        return Err(ReadingError::Wrong { format: FORMAT, place, problem });
    }
    let rows: Vec<Vec<u32>> = rows.into_iter().map(|(_, row)| row).collect();
    let tables = text.lines().zip(text.lines().skip(1));
    let tables = tables.filter(|(head, next)| columns(head).is_some() && row(next).is_some()).count();
    let remarks = of_several(tables).into_iter().collect();
    Ok(MatrixReading { format: FORMAT, matrix: Matrix::of_distances(nodes, &rows)?, remarks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interconnect::matrix::Unit;

    #[test]
    fn distances_of_sparse_single_and_wrapped_tables_are_read() {
        let sparse = "available: 2 nodes (0,8)\nnode 0 cpus: 0 1\nnode 0 size: 9 MB\nnode distances:\nnode   0   8\n  0:  10  40\n  8:  40  10\n$ exit\n";
        let read_matrix = |text: &str| {
            assert!(is(text), "{text}");
            read(text).expect(text).matrix
        };
        let matrix = read_matrix(sparse);
        assert_eq!((matrix.unit, matrix.nodes.as_slice()), (Unit::Distance, [0, 8].as_slice()));
        assert_eq!((matrix.at(0, 1), matrix.at(1, 1)), (Some(40.0), Some(10.0)));
        assert_eq!(read_matrix("node distances:\nnode   0\n  0:  10\n").count(), 1);
        let wrapped = "node   0   1   2\n  0:  10  21\n  255\n  1:  21  10\n  21\n  2: 255  21\n  10\n";
        assert_eq!((read_matrix(wrapped).at(0, 2), read_matrix(wrapped).at(2, 1)), (None, Some(21.0)));
    }

    #[test]
    fn half_a_table_is_refused() {
        for (text, said) in [
            ("node   0   1\n  0:  10  21\n", "rows of other nodes"),
            ("node   0   1\n  0:  10  21\n  1:  2x  10\n", "line 3: a distance is no number"),
            ("node   0   1\n  0:  10  21\n  1:  21\n", "row 2 has 1 values"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(!is("node 0 cpus: 0\n0: 1\n") && !is("node,0\n0:1\n"));
    }
}
