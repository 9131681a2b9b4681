//! A matrix as CSV: rows of numbers, with or without names, by commas, semicolons, tabs or spaces.
//!
//! A line `# unit: cycles` (or `ns`, `distance`) says what the numbers count; without it they are nanoseconds. A line `#
//! error: 1.5` gives their standard error, a line `# nodes: 0 3` the numbers of the nodes, `# cpus: 0 3` those of CPUs.
//!
//! Tables of core-to-core latencies come as half a matrix, with its empty half or without, under a title, with names in quotes that hold
//! commas, with numbers of CPUs before rows and above columns, and with `35±1` in a cell: all that is read. Without a name that says
//! what it is of, a matrix without a diagonal and with one empty half is one of CPUs, and so is any larger one without a diagonal.

use super::names::{Line, Names, is_unknown, strip, unit_of, value_of};
use super::{Matrix, MatrixReading, ReadingError, Rows, Unit, of_several, shortened};
use crate::interconnect::graph::pairs;
use crate::interconnect::groups::THREADS_NS_MAX;
use crate::interconnect::matrix::Member;

/// Without a diagonal, more than so many are CPUs: few machines have more nodes, and few matrices of nodes leave out local memory.
const NODES_WITHOUT_DIAGONAL_MAX: usize = 8;
/// Half of a matrix of fewer rows may as well be a file that was cut off, or one with an unknown entry.
const HALF_ROWS_MIN: usize = 3;

/// What comments say.
#[derive(Default)]
struct Comments {
    unit: Option<Unit>,
    standard_error: Option<f64>,
    numbers: Option<(Member, Vec<u32>)>,
}

pub(super) fn read(text: &str) -> Result<MatrixReading, ReadingError> {
    let mut comments = Comments::default();
    let mut lines: Vec<(usize, &str)> = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            comments.add(comment.trim());
        } else if !line.trim().is_empty() {
            lines.push((index + 1, line));
        }
    }
    let further = further_tables(&lines);
    lines.truncate(further.first().copied().unwrap_or(lines.len()));
    let separator = separator(&lines);
    let cut = |(number, line): &(usize, &str)| Line { number: *number, cells: cells(line, separator) };
    let mut lines: Vec<Line> = lines.iter().map(cut).collect();
    unwrap(&mut lines);
    let Names { member, numbers, mut remarks } = strip(&mut lines);
    let mut rows: Rows = Vec::new();
    for line in &lines {
        let cells = line.cells.iter().enumerate();
        let row = cells.map(|(column, cell)| number(cell, separator, line.number, column + 1));
        rows.push(row.collect::<Result<_, _>>()?);
    }
    remarks.extend(of_several(further.len() + 1));
    remarks.extend(square(&mut rows));
    let half = mirror(&mut rows);
    remarks.extend(
        half.map(|half| format!("only the {half} half is filled; both directions are taken as equal")),
    );
    let stated = lines.iter().flat_map(|line| &line.cells).find_map(|cell| unit_of(cell));
    let unit = comments.unit.or(stated.map(|(_, unit)| unit)).unwrap_or(Unit::Nanoseconds);
    let mut matrix = Matrix::of_rows(unit, &rows)?;
    let stated = comments.numbers.filter(|(_, numbers)| numbers.len() == rows.len());
    let numbers = stated.as_ref().map(|(_, numbers)| numbers.clone()).or(numbers);
    let is_half = half.is_some();
    let member =
        stated.map(|(member, _)| member).or(member).unwrap_or_else(|| likely_member(&matrix, is_half));
    if member == Member::Cpus {
        matrix = matrix.of_cpus();
    }
    matrix.standard_error = comments.standard_error;
    if let Some(numbers) = numbers {
        matrix = matrix.numbered(numbers)?;
    }
    Ok(MatrixReading { format: "CSV", matrix, remarks })
}

impl Comments {
    fn add(&mut self, comment: &str) {
        let Some((name, value)) = comment.split_once(':') else { return };
        let value = value.trim();
        match name.trim() {
            "unit" if value == "distance" => self.unit = Some(Unit::Distance),
            "unit" => self.unit = Unit::from_name(value).filter(|_| !value.is_empty()).or(self.unit),
            "error" => self.standard_error = error_of(value).or(self.standard_error),
            "nodes" => self.number(Member::Nodes, value),
            "cpus" => self.number(Member::Cpus, value),
            _ => {}
        }
    }

    fn number(&mut self, member: Member, value: &str) {
        let numbers: Result<Vec<u32>, _> = value.split_whitespace().map(str::parse).collect();
        if let Some(numbers) = numbers.ok().filter(|numbers| !numbers.is_empty()) {
            self.numbers = Some((member, numbers));
        }
    }
}

fn error_of(value: &str) -> Option<f64> {
    let error: f64 = value.parse().ok()?;
    (error.is_finite() && error > 0.0).then_some(error)
}

/// What stands between cells: what most lines hold; spaces, if none does.
fn separator(lines: &[(usize, &str)]) -> Option<char> {
    let holding = |separator: char| {
        lines.iter().filter(|(_, line)| outside_quotes(line).any(|(_, at)| at == separator)).count()
    };
    let counted = [';', '\t', ','].map(|separator| (holding(separator), separator));
    // A comma beside semicolons is a decimal comma; the first of equals is taken.
    let best = counted.into_iter().rev().max_by_key(|(count, _)| *count)?;
    (best.0 * 2 > lines.len()).then_some(best.1)
}

/// Each character that is in no quotes, with its place.
fn outside_quotes(line: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut is_quoted = false;
    line.char_indices().filter(move |(_, at)| {
        is_quoted ^= *at == '"';
        !is_quoted
    })
}

fn cells(line: &str, separator: Option<char>) -> Vec<String> {
    let is_end = |at: char| separator.map_or_else(|| at.is_whitespace(), |separator| at == separator);
    let ends = outside_quotes(line).filter(|(_, at)| is_end(*at));
    let mut cells = Vec::new();
    let mut begin = 0;
    for (end, at) in ends.chain([(line.len(), ' ')]) {
        cells.push(line[begin..end].trim().trim_matches('"').trim().to_owned());
        begin = (end + at.len_utf8()).min(line.len());
    }
    if separator.is_none() {
        cells.retain(|cell| !cell.is_empty());
    }
    cells
}

fn number(
    cell: &str,
    separator: Option<char>,
    line: usize,
    column: usize,
) -> Result<Option<f64>, ReadingError> {
    if is_unknown(cell) {
        return Ok(None);
    }
    let value = value_of(cell);
    let value = if separator == Some(';') { value.replace(',', ".") } else { value.to_owned() };
    value.parse().map(Some).map_err(|_| ReadingError::NoNumber { line, column, text: shortened(cell) })
}

/// Where the second and later tables begin, each under a banner such as `2) Latency of ...`.
fn further_tables(lines: &[(usize, &str)]) -> Vec<usize> {
    let is_banner = |line: &str| {
        let number = line
            .trim_start()
            .trim_start_matches('(')
            .split_once(')')
            .map(|(number, _)| number.parse::<u32>());
        number.is_some_and(|number| number.is_ok())
    };
    lines.iter().enumerate().filter(|(_, (_, line))| is_banner(line)).map(|(at, _)| at).skip(1).collect()
}

/// Joins lines that a terminal or a mail wrapped, in tables whose cells have a spread: there no row begins with such a cell, and numbers of
/// columns that go on counting are no row.
fn unwrap(lines: &mut Vec<Line>) {
    let has_spread = |cell: &String| cell.contains('±');
    if !lines.iter().any(|line| line.cells.iter().any(has_spread)) {
        join_parts(lines);
        return;
    }
    let mut whole: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines.drain(..) {
        let numbers =
            |cells: &[String]| cells.iter().map(|cell| cell.parse().ok()).collect::<Option<Vec<usize>>>();
        let goes_on = |above: &Line| match (numbers(&above.cells).as_deref(), numbers(&line.cells).as_deref())
        {
            (Some([_, .., last]), Some([first, ..])) => *first == last + 1 && line.cells.len() > 1,
            _ => line.cells.first().is_some_and(has_spread),
        };
        match whole.last_mut().filter(|above| goes_on(above)) {
            Some(above) => above.cells.extend(line.cells),
            None => whole.push(line),
        }
    }
    *lines = whole;
}

/// Joins rows that were all broken into as many parts: only that makes a matrix of them.
fn join_parts(lines: &mut Vec<Line>) {
    /// A terminal of 80 letters shows a tenth of the largest table in a line.
    const PARTS_MAX: usize = 16;
    let is_matrix = |parts: &usize| {
        let widths: Vec<usize> =
            lines.chunks(*parts).map(|row| row.iter().map(|line| line.cells.len()).sum()).collect();
        let [head, rest @ ..] = widths.as_slice() else { return false };
        let count = widths.len();
        // With names of columns, whose corner may be left out, or with names of rows only, or without any.
        let is_named = *head + 1 == count || *head == count;
        lines.len().is_multiple_of(*parts)
            && !rest.is_empty()
            && (rest.iter().all(|width| *width == count) && is_named
                || widths.iter().all(|width| *width == count + 1))
    };
    let is_part =
        |line: &Line| line.cells.iter().all(|cell| is_unknown(cell) || value_of(cell).parse::<f64>().is_ok());
    let Some(parts) = (1..=PARTS_MAX.min(lines.len())).find(is_matrix).filter(|parts| *parts > 1) else {
        return;
    };
    let begins = |at: usize| at.is_multiple_of(parts) || at < parts;
    if !lines.iter().enumerate().all(|(at, line)| begins(at) || is_part(line)) {
        return;
    }
    let mut whole: Vec<Line> = Vec::with_capacity(lines.len() / parts);
    for (at, line) in lines.drain(..).enumerate() {
        match whole.last_mut().filter(|_| !at.is_multiple_of(parts)) {
            Some(above) => above.cells.extend(line.cells),
            None => whole.push(line),
        }
    }
    *lines = whole;
}

/// Fills rows that hold half a matrix, its diagonal included or not, to whole ones.
fn square(rows: &mut Rows) -> Option<String> {
    let count = rows.len();
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let is = |length: &dyn Fn(usize) -> usize| {
        rows.iter().enumerate().all(|(row, cells)| cells.len() == length(row))
    };
    if count < HALF_ROWS_MIN || rows.iter().all(|row| row.len() == widest) {
        return None;
    }
    let half = if is(&|row| row) || is(&|row| row + 1) {
        for row in rows.iter_mut() {
            row.resize(count, None);
        }
        "lower"
    } else if is(&|row| count - row) || is(&|row| count - row - 1) {
        for row in rows.iter_mut() {
            row.splice(..0, vec![None; count - row.len()]);
        }
        "upper"
    } else {
        return None;
    };
    Some(format!("rows change by one cell each: read as the {half} half of a matrix"))
}

/// Fills the empty half of a matrix from the other, as tables of core-to-core latencies leave it; which half was filled.
fn mirror(rows: &mut Rows) -> Option<&'static str> {
    let count = rows.len();
    if count < HALF_ROWS_MIN || rows.iter().any(|row| row.len() != count) {
        return None;
    }
    let has_upper = pairs(count).any(|(row, column)| rows[row][column].is_some());
    let has_lower = pairs(count).any(|(row, column)| rows[column][row].is_some());
    let half = match (has_upper, has_lower) {
        (false, true) => "lower",
        (true, false) => "upper",
        _ => return None,
    };
    for (row, column) in pairs(count) {
        let value = rows[row][column].or(rows[column][row]);
        (rows[row][column], rows[column][row]) = (value, value);
    }
    Some(half)
}

/// What a matrix is of whose file does not say.
fn likely_member(matrix: &Matrix, is_half: bool) -> Member {
    let is_near = matrix.known().any(|(_, _, value)| value <= THREADS_NS_MAX);
    let has_diagonal = (0..matrix.count()).any(|one| matrix.at(one, one).is_some());
    // No memory is as near as threads of a core are.
    let is_small =
        matrix.count() <= NODES_WITHOUT_DIAGONAL_MAX && !(is_near && matrix.unit == Unit::Nanoseconds);
    let is_of_nodes = matrix.unit == Unit::Distance || has_diagonal || (is_small && !is_half);
    if is_of_nodes { Member::Nodes } else { Member::Cpus }
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
    fn tables_of_core_to_core_latencies_are_read_however_they_were_written() {
        let known = |text: &str| {
            let read = read(text).expect(text).matrix;
            (read.members, read.nodes.clone(), read.known().collect::<Vec<_>>())
        };
        let (member, numbers, plain) = known(",,\n7,,\n35,36,\n");
        assert_eq!((member, numbers, plain.len()), (Member::Cpus, vec![0, 1, 2], 6));
        for text in [
            ",7,35\n,,36\n,,\n",
            "AMD EPYC, 64-Core, 2 sockets\n,,\n7,,\n35,36,\n",
            "\"Intel(R) Xeon(R), 2.4 GHz\"\n,,\n7,,\n35,36,\n",
            "\"\",\"cpu0\",\"cpu1\",\"cpu2\"\n\"cpu0\",,,\n\"cpu1\",7,,\n\"cpu2\",35,36,\n",
            "CPU,0,1,2\n0,,,\n1,7,,\n2,35,36,\n",
            "core 0;core 1;core 2\n;7,0;35,0\n7,0;;36,0\n35,0;36,0;\n",
            "CPU: Core(TM) i7 @ 2.80GHz\nNum cores: 3\n\n   0  1  2\n 0\n 1  7±0\n 2  35±1  36±0\n\n Min  latency: 7.0ns ±0.1 cores: (1,0)\n",
            "# cpus: 0 1 2\n1,7,35\n7,1,36\n35,36,1\n",
            "# cpus: 0 1 2\n1 7\n35\n7 1\n36\n35 36\n1\n",
            "cpu0 cpu1\ncpu2\ncpu0 1 7\n35\ncpu1 7 1\n36\ncpu2 35 36\n1\n",
        ] {
            assert_eq!(known(text), (Member::Cpus, vec![0, 1, 2], plain.clone()), "{text}");
        }
        assert_eq!(known("cpu4,cpu9,cpu2\n,7,35\n7,,36\n35,36,\n").1, [4, 9, 2]);
        let shuffled = "CPU,13,6,8,1\n13,,7,35,35\n6,7,,35,35\n8,35,35,,7\n1,35,35,7,\n";
        assert_eq!((known(shuffled).0, known(shuffled).1), (Member::Cpus, vec![13, 6, 8, 1]));
        let known_pairs = |text: &str| known(text).2;
        assert_eq!(known_pairs(&shuffled.replace("CPU", "").replace("13", "0")), known_pairs(shuffled));
        // Below an empty corner, a symmetric matrix without its diagonal is no table with names.
        assert_eq!(known(",20,90\n20,,91\n90,91,\n").1, [0, 1, 2]);
        for (corner, member) in [("CPU", Member::Cpus), ("Node", Member::Nodes), ("", Member::Nodes)] {
            let text = format!("{corner},0,1,2,3\n0,,20,90,91\n1,20,,90,92\n2,90,91,,21\n3,90,91,21,\n");
            assert_eq!((known(&text).0, known(&text).1), (member, vec![0, 1, 2, 3]), "{text}");
        }
        let titled = "# latency in ns\n\"CPU\",\"cpu 2\",\"cpu 5\",\"cpu 7\"\n\"cpu 2\",,7,35\n\"cpu 5\",7,,36\n\"cpu 7\",35,36,\n";
        let titled = read(titled).expect(titled);
        assert_eq!((titled.matrix.nodes, titled.remarks.len()), (vec![2, 5, 7], 0));
        let half = |text: &str| read(text).expect(text).matrix.known().count();
        // With their diagonal, halves are of nodes.
        assert_eq!(["80\n130,81\n130,130,82\n", "80,130,130\n81,130\n82\n"].map(half), [9, 9]);
        let quoted = "\"\",\"Xeon, a\",\"Xeon, b\"\n\"Xeon, a\",80,130\n\"Xeon, b\",131,81\n";
        assert_eq!(known(quoted).2, known("80,130\n131,81\n").2);
    }

    #[test]
    fn garbage_is_an_error_with_its_place() {
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
