//! A matrix as CSV: rows of numbers, with or without names, by commas, semicolons, tabs or spaces.
//!
//! A line `# unit: cycles` (or `ns`, `distance`) says what the numbers count; without it they are nanoseconds. A line `#
//! error: 1.5` gives their standard error, a line `# nodes: 0 3` the numbers of the nodes.

use super::{Matrix, MatrixReading, ReadingError, Rows, Unit, shortened};
use crate::interconnect::graph::pairs;

/// A line of the file with its number.
struct Line<'a> {
    number: usize,
    cells: Vec<&'a str>,
}

pub(super) fn read(text: &str) -> Result<MatrixReading, ReadingError> {
    let mut unit = Unit::Nanoseconds;
    let mut standard_error = None;
    let mut nodes: Option<Vec<u32>> = None;
    let mut lines: Vec<Line> = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            unit = named_unit(comment).unwrap_or(unit);
            standard_error = error_of(comment).or(standard_error);
            nodes = nodes_of(comment).or(nodes);
        } else if !line.trim().is_empty() {
            lines.push(Line { number: index + 1, cells: cells(line) });
        }
    }
    let mut remarks = Vec::new();
    strip_names(&mut lines);
    let mut rows: Rows = Vec::new();
    for line in &lines {
        let row = line.cells.iter().enumerate().map(|(column, cell)| number(cell, line.number, column + 1));
        rows.push(row.collect::<Result<_, _>>()?);
    }
    if mirror(&mut rows) {
        remarks.push("only the lower half is filled; both directions are taken as equal".to_owned());
    }
    let mut matrix = Matrix::of_rows(unit, &rows)?;
    matrix.standard_error = standard_error;
    if let Some(nodes) = nodes.filter(|nodes| nodes.len() == rows.len()) {
        matrix = matrix.numbered(nodes)?;
    }
    Ok(MatrixReading { format: "CSV", matrix, bandwidth_mb_per_s: None, remarks })
}

fn named_unit(comment: &str) -> Option<Unit> {
    match comment.trim().strip_prefix("unit:")?.trim() {
        "ns" => Some(Unit::Nanoseconds),
        "cycles" => Some(Unit::Cycles),
        "distance" => Some(Unit::Distance),
        _ => None,
    }
}

fn error_of(comment: &str) -> Option<f64> {
    let error: f64 = comment.trim().strip_prefix("error:")?.trim().parse().ok()?;
    (error.is_finite() && error > 0.0).then_some(error)
}

/// Numbers that rise, as many as there are.
fn nodes_of(comment: &str) -> Option<Vec<u32>> {
    let words = comment.trim().strip_prefix("nodes:")?.split_whitespace();
    let nodes: Vec<u32> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    nodes.windows(2).all(|pair| pair[0] < pair[1]).then_some(nodes)
}

fn cells<'a>(line: &'a str) -> Vec<&'a str> {
    // Spreadsheets put cells in quotes.
    let bare = |cell: &'a str| cell.trim().trim_matches('"').trim();
    match [',', ';', '\t'].into_iter().find(|separator| line.contains(*separator)) {
        Some(separator) => line.split(separator).map(bare).collect(),
        None => line.split_whitespace().map(bare).collect(),
    }
}

/// Whether a cell holds a name: what begins like a number is meant for one.
fn is_word(cell: &str) -> bool {
    !is_unknown(cell) && cell.starts_with(char::is_alphabetic) && cell.parse::<f64>().is_err()
}

fn is_unknown(cell: &str) -> bool {
    cell.is_empty() || ["-", "na", "nan", "n/a"].contains(&cell.to_ascii_lowercase().as_str())
}

/// Takes names of columns and of rows away.
fn strip_names(lines: &mut Vec<Line>) {
    let Some(first) = lines.first() else { return };
    let (Some(corner), columns) = (first.cells.first(), first.cells.len()) else { return };
    // Numbers of nodes above the columns, with nothing or a word in the corner.
    let counts = |cells: &[&str]| cells.iter().enumerate().all(|(place, cell)| cell.parse() == Ok(place));
    let is_numbered = columns > 1 && counts(&first.cells[1..]) && (corner.is_empty() || is_word(corner));
    let is_named = columns > 1 && first.cells[1..].iter().all(|cell| is_word(cell));
    if is_numbered || is_named {
        lines.remove(0);
    }
    let rows = lines.len();
    // A name before each row makes it one longer than there are rows.
    let is_longer =
        |line: &Line| line.cells.len() > rows && line.cells.first().is_some_and(|cell| !cell.is_empty());
    let is_named = |line: &Line| line.cells.len() > 1 && line.cells.first().is_some_and(|cell| is_word(cell));
    if rows > 0 && (lines.iter().all(is_longer) || lines.iter().all(is_named)) {
        for line in lines {
            line.cells.remove(0);
        }
    }
}

fn number(cell: &str, line: usize, column: usize) -> Result<Option<f64>, ReadingError> {
    if is_unknown(cell) {
        return Ok(None);
    }
    let parsed = cell.parse().map(Some);
    parsed.map_err(|_| ReadingError::NoNumber { line, column, text: shortened(cell) })
}

/// Fills the upper half from the lower if it is empty, as tables of core-to-core latencies leave it.
fn mirror(rows: &mut Rows) -> bool {
    let count = rows.len();
    let is_square = rows.iter().all(|row| row.len() == count);
    let upper = |row: usize| rows[row].iter().skip(row + 1).all(Option::is_none);
    let lower = |row: usize| rows[row].iter().take(row).all(Option::is_some);
    if count < 2 || !is_square || !(0..count).all(|row| upper(row) && lower(row)) {
        return false;
    }
    for (row, column) in pairs(count) {
        rows[row][column] = rows[column][row];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(text: &str) -> Matrix {
        read(text).expect(text).matrix
    }

    #[test]
    fn names_of_rows_and_columns_and_any_separator_are_understood() {
        let plain = matrix("80,130\n131,81\n");
        for text in [
            "80;130\r\n131;81",
            "\"\",\"node 0\",\"node 1\"\n\"node 0\",\"80\",\"130\"\n\"node 1\",\"131\",\"81\"\n",
            "80 130\n131\t81",
            "\u{feff}node,a,b\na,80,130\nb,131,81\n",
            ",0,1\n0,80,130\n1,131,81\n",
            "node0,80,130\nnode1,131,81\n",
            "a,b\n80,130\n131,81\n",
            "# a comment\n\n80,130\n131,81\n",
        ] {
            let read = matrix(text);
            let entries: Vec<_> = read.known().collect();
            assert_eq!(entries, plain.known().collect::<Vec<_>>(), "{text:?}");
        }
    }

    #[test]
    fn units_errors_and_halves_are_understood() {
        assert_eq!(matrix("# unit: cycles\n1 2\n2 1").unit, Unit::Cycles);
        assert_eq!(matrix("# error: 1.5\n1 2\n2 1").standard_error, Some(1.5));
        assert_eq!(matrix("# error: nan\n1 2\n2 1").standard_error, None);
        let half = read(",,\n20,,\n30,40,\n").expect("half");
        assert_eq!((half.matrix.at(0, 2), half.matrix.at(1, 1), half.remarks.len()), (Some(30.0), None, 1));
        assert_eq!(matrix("80,-\nnan,81").at(0, 1), None);
    }

    #[test]
    fn garbage_is_told_with_its_place() {
        for (text, said) in [
            ("", "no row"),
            ("80,13o\n130,80\n", "line 1, column 2: \"13o\""),
            ("80,130\n130,80,3\n", "row 2 has 3 values"),
            ("80,inf\n130,80\n", "inf"),
            ("80,130\n-130,80\n", "row 2, column 1 is -130"),
            ("hello", "\"hello\" is no number"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
