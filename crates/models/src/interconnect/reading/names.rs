//! Titles, and names of rows and columns, taken away from a table; what they say of what the table is of.

use crate::interconnect::matrix::{Member, Unit};

/// A line of the file with its number.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) cells: Vec<String>,
}

/// What the names of a table say.
#[derive(Default)]
pub(super) struct Names {
    pub(super) member: Option<Member>,
    /// The numbers of nodes or CPUs, if names hold them.
    pub(super) numbers: Option<Vec<u32>>,
    pub(super) remarks: Vec<String>,
}

/// Words that name a node, and words that name a CPU, with a number behind.
const NODES: [&str; 3] = ["node", "numa", "numanode"];
const CPUS: [&str; 6] = ["cpu", "core", "thread", "hwthread", "pu", "processor"];

/// Takes titles and names away.
pub(super) fn strip(lines: &mut Vec<Line>) -> Names {
    let mut names = Names::default();
    let widest = lines.iter().filter_map(values_of_row).max().unwrap_or(1);
    let above = lines.iter().take_while(|line| is_title(line, widest)).count();
    let below = lines[above..].iter().rev().take_while(|line| is_title(line, widest)).count();
    let titles = lines.drain(..above).collect::<Vec<_>>();
    let table = lines.len() - below;
    let closing = lines.drain(table..).collect::<Vec<_>>();
    let left_out: Vec<String> = titles.iter().chain(&closing).map(|title| title.number.to_string()).collect();
    match left_out.as_slice() {
        [] => {}
        [one] => names.remarks.push(format!("line {one} is no row, and left out")),
        [first, .., last] => {
            let many = left_out.len();
            names.remarks.push(format!("{many} lines from {first} to {last} are no rows, and left out"));
        }
    }
    let (corner, columns) = take_columns(lines).unzip();
    let rows = take_rows(lines, columns.as_deref());
    let corner = corner.flatten();
    let stated =
        rows.or(columns).and_then(|cells| numbered(&cells)).filter(|(_, stated)| stated.len() == lines.len());
    names.member = corner;
    if let Some((member, numbers)) = stated {
        names.member = member.or(corner);
        names.numbers = Some(numbers).filter(|_| names.member.is_some());
    }
    names
}

/// The cells of a row of numbers, without a name in words before them; none of any other line.
fn values_of_row(line: &Line) -> Option<usize> {
    let (first, rest) = line.cells.split_first()?;
    if !is_word(first) {
        return Some(line.cells.len());
    }
    (!rest.is_empty() && rest.iter().all(|cell| is_value(cell))).then_some(rest.len())
}

/// Whether a line is words about the table: neither names of columns nor a named row of numbers.
fn is_title(line: &Line, widest: usize) -> bool {
    let Some((first, rest)) = line.cells.split_first() else { return false };
    // A banner such as `2) Latency of ...`, or a prompt with what was typed at it.
    if !is_word(first) && !is_value(first) && rest.iter().any(|cell| is_word(cell)) {
        return true;
    }
    if !is_word(first) || (!rest.is_empty() && numbered(std::slice::from_ref(first)).is_some()) {
        return false;
    }
    if rest.is_empty() {
        return widest > 1;
    }
    let is_row = rest.iter().all(|cell| is_value(cell));
    let are_names =
        rest.iter().all(|cell| is_word(cell)) && (widest..=widest + 1).contains(&line.cells.len());
    let are_numbers_of_columns = rest.iter().all(|cell| cell.parse::<usize>().is_ok());
    !is_row && !are_names && !are_numbers_of_columns
}

/// The names above the columns, and what the corner says that they are; it may be empty, a word, or not there.
fn take_columns(lines: &mut Vec<Line>) -> Option<(Option<Member>, Vec<String>)> {
    let first = lines.first()?;
    let next = lines.get(1)?;
    let (corner, rest) = first.cells.split_first()?;
    let is_corner = corner.is_empty() || is_word(corner);
    let counts = |cells: &[String]| {
        let numbers = cells.iter().map(|cell| cell.parse::<usize>().ok());
        let numbers: Option<Vec<usize>> = numbers.collect();
        numbers.is_some_and(|numbers| {
            numbers.len() > 1 && numbers[0] <= 1 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1)
        })
    };
    let is_named = !rest.is_empty() && rest.iter().all(|cell| is_word(cell));
    let is_numbered = is_corner && (counts(rest) || (rest == ["0"] && next.cells.len() > 1));
    // Without a corner: numbers from 0, and the rows begin with them.
    let rows_follow =
        || lines[1..].iter().zip(&first.cells).all(|(line, name)| line.cells.first() == Some(name));
    let is_bare = counts(&first.cells) && lines.len() == first.cells.len() + 1 && rows_follow();
    // Numbers in any order, if rows begin with them too. Below an empty corner they may be a symmetric matrix without its diagonal.
    let rows_repeat = || {
        lines.len() == rest.len() + 1
            && lines[1..].iter().zip(rest).all(|(line, name)| line.cells.first() == Some(name))
    };
    let mut places: Vec<Option<usize>> = rest.iter().map(|cell| cell.parse().ok()).collect();
    places.sort_unstable();
    let is_shuffled = is_corner
        && places.windows(2).all(|pair| pair[0].is_some() && pair[0] < pair[1])
        && (!corner.is_empty() || places.first() == Some(&Some(0)))
        && rows_repeat();
    if !is_named && !is_numbered && !is_bare && !is_shuffled {
        return None;
    }
    let mut cells = lines.remove(0).cells;
    // With as many names as a row has cells the corner is the first name, unless rows have names too.
    let rows = lines.len();
    let mut of = None;
    if !is_bare && (cells[0].is_empty() || cells.len() > rows) {
        of = member_named(cells.remove(0).trim_end_matches('s'));
    }
    Some((of, cells))
}

/// The names before the rows.
fn take_rows(lines: &mut [Line], columns: Option<&[String]>) -> Option<Vec<String>> {
    let rows = lines.len();
    let first = |line: &Line| line.cells.first().cloned().unwrap_or_default();
    let names: Vec<String> = lines.iter().map(first).collect();
    // A name before each row makes it one longer than there are rows.
    let is_longer = lines.iter().all(|line| line.cells.len() > rows && !first(line).is_empty());
    let is_named = lines.iter().all(|line| line.cells.len() > 1 && is_word(&first(line)))
        || lines.iter().all(|line| numbered(&[first(line)]).is_some_and(|(member, _)| member.is_some()));
    let is_repeated = columns.is_some_and(|columns| columns == names);
    if rows == 0 || !(is_longer || is_named || is_repeated) {
        return None;
    }
    for line in lines {
        line.cells.remove(0);
    }
    Some(names)
}

/// Whether a cell holds a name: what begins like a number is meant for one.
fn is_word(cell: &str) -> bool {
    !is_unknown(cell) && cell.starts_with(char::is_alphabetic) && cell.parse::<f64>().is_err()
}

/// Whether a cell holds a number or says that it is unknown.
fn is_value(cell: &str) -> bool {
    is_unknown(cell) || value_of(cell).parse::<f64>().is_ok()
}

/// What stands before the spread of a value, and before its unit.
pub(super) fn value_of(cell: &str) -> &str {
    let value = cell.split('±').next().unwrap_or(cell).trim();
    unit_of(value).map_or(value, |(unit, _)| value[..value.len() - unit.len()].trim_end())
}

/// The unit behind a number in a cell.
pub(super) fn unit_of(cell: &str) -> Option<(&'static str, Unit)> {
    let units = [("ns", Unit::Nanoseconds), ("cycles", Unit::Cycles), ("clk", Unit::Cycles)];
    let is_number = |text: &str| text.trim_end().ends_with(|at: char| at.is_ascii_digit() || at == '.');
    units.into_iter().find(|(unit, _)| cell.strip_suffix(unit).is_some_and(is_number))
}

/// Whether a cell says that nothing is known.
pub(super) fn is_unknown(cell: &str) -> bool {
    cell.is_empty() || ["-", "na", "nan", "n/a"].contains(&cell.to_ascii_lowercase().as_str())
}

/// What a word names.
fn member_named(word: &str) -> Option<Member> {
    let word = word.to_ascii_lowercase();
    if NODES.contains(&word.as_str()) {
        return Some(Member::Nodes);
    }
    CPUS.contains(&word.as_str()).then_some(Member::Cpus)
}

/// What names that are a word and a number are of, and the numbers; bare numbers are of nothing.
fn numbered(names: &[String]) -> Option<(Option<Member>, Vec<u32>)> {
    let mut member = None;
    let mut numbers = Vec::with_capacity(names.len());
    for (place, name) in names.iter().enumerate() {
        let digits = name.trim_start_matches(|at: char| !at.is_ascii_digit());
        let word = name[..name.len() - digits.len()].trim_end_matches([' ', '#', '_', '-']);
        let of = member_named(word);
        if of.is_none() && !word.is_empty() {
            return None;
        }
        if place > 0 && of != member {
            return None;
        }
        member = of;
        numbers.push(digits.parse().ok()?);
    }
    Some((member, numbers))
}
