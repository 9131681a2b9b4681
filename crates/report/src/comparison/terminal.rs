//! A comparison in the terminal: what differs, what to mind, the table, the averages.

mod columns;

use record::{ComparisonRow, ComparisonTable};
use stats::Verdict;

use super::wording;
use crate::escape::plain;
use crate::terminal::{Ink, Paper, Terminal};
use columns::Columns;

/// A name of a configuration takes at most this many columns above its numbers, and less where there are many.
const NAME_COLUMNS: usize = 14;
const NAME_COLUMNS_CROWDED: usize = 10;

/// What the marks mean in the table of several candidates.
const LEGEND: &str = "change in % ± distance to the end of its 95 % interval; ! slower, + faster, = equivalent, \
                      ? inconclusive";

/// The comparison for people.
pub fn comparison_terminal(table: &ComparisonTable, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    for sentence in wording::sentences(table) {
        paper.wrapped_inked(Ink::Strong, "", &plain(&sentence));
    }
    paper.blank();
    before_the_numbers(&mut paper, table);
    let has_intervals = table.rows.iter().any(|row| row.interval.is_some());
    if table.configurations.len() != 2 {
        several(&mut paper, table);
    } else if has_intervals {
        judged_pair(&mut paper, table);
    } else {
        single_pair(&mut paper, table);
    }
    paper.blank();
    averages(&mut paper, table, has_intervals);
    for line in wording::unmatched(table) {
        paper.wrapped("not compared  ", &plain(&line));
    }
    paper.finish()
}

fn before_the_numbers(paper: &mut Paper, table: &ComparisonTable) {
    let facts = wording::facts(table);
    for (index, fact) in facts.iter().enumerate() {
        paper.wrapped(if index == 0 { "differs  " } else { "         " }, &plain(fact));
    }
    if facts.is_empty() && table.configurations.iter().any(|one| one.kind == "record") {
        paper.wrapped("differs  ", "nothing that the records hold of machine, kernel and conditions");
    }
    for caution in &table.cautions {
        paper.wrapped("note     ", &plain(caution));
    }
    if let Some(drift) = wording::drift(table).filter(|_| !table.drift.doubtful) {
        let ink = if table.drift.moved.is_empty() { Ink::Plain } else { Ink::Warning };
        paper.wrapped_inked(ink, "drift    ", &plain(&drift));
    }
    if let Some(spread) = wording::spread_from(table) {
        paper.wrapped("spread   ", &spread);
    }
    paper.blank();
}

/// A name that fits above its column.
fn short_name(name: &str, columns: usize) -> String {
    let name = plain(name);
    if name.chars().count() <= columns {
        return name;
    }
    let kept: String = name.chars().take(columns - 1).collect();
    format!("{kept}…")
}

fn configuration_name(table: &ComparisonTable, index: usize, columns: usize) -> String {
    table.configurations.get(index).map_or_else(String::new, |one| short_name(&one.name, columns))
}

/// Group and unit stand above their tests, which leaves the columns to the numbers.
fn heading(row: &ComparisonRow) -> String {
    format!("{}, {}", plain(&row.group), plain(&row.unit))
}

/// Two configurations without intervals: as the article printed it.
fn single_pair(paper: &mut Paper, table: &ComparisonTable) {
    let candidate = 1 - table.baseline.min(1);
    let names = [table.baseline, candidate].map(|index| configuration_name(table, index, NAME_COLUMNS));
    let mut columns = Columns::new(["test", "unit", &names[0], &names[1], "change", "difference"], &[1]);
    for row in &table.rows {
        columns.group(&plain(&row.group));
        columns.row(
            &plain(&wording::test_name(&row.name)),
            [
                plain(&row.unit),
                wording::value(row.a, None),
                wording::value(row.b, None),
                format!("{} %", wording::signed(row.change_percent)),
                format!("{} %", wording::percent(row.symmetric_percent)),
            ],
        );
    }
    columns.write(paper, 2);
}

fn judged_pair(paper: &mut Paper, table: &ComparisonTable) {
    let candidate = 1 - table.baseline.min(1);
    let names =
        [table.baseline, candidate].map(|index| configuration_name(table, index, NAME_COLUMNS_CROWDED));
    let mut columns =
        Columns::new(["test", &names[0], &names[1], "change %", "diff %", "q", "verdict"], &[6]);
    for row in &table.rows {
        columns.group(&heading(row));
        columns.row(
            &plain(&wording::test_name(&row.name)),
            [
                wording::value(row.a, row.a_interval),
                wording::value(row.b, row.b_interval),
                wording::change(row),
                wording::percent(row.symmetric_percent),
                wording::q_value(row.q),
                wording::verdict_short(row),
            ],
        );
    }
    columns.write(paper, 1);
    let wants_runs =
        |row: &&ComparisonRow| row.verdict == Verdict::Inconclusive && row.further_runs.is_some();
    let unclear = if table.rows.iter().any(|row| wants_runs(&row)) {
        "; ? n runs: inconclusive, about n more runs of each would decide"
    } else {
        ""
    };
    let legend = format!(
        "change ± distance to the end of its 95 % interval; diff: |a-b| over the mean; q: p over all rows{unclear}"
    );
    paper.wrapped_inked(Ink::Faint, "", &legend);
}

/// One column per configuration, in the order given.
fn several(paper: &mut Paper, table: &ComparisonTable) {
    let names: Vec<String> =
        (0..table.configurations.len()).map(|index| configuration_name(table, index, NAME_COLUMNS)).collect();
    let headers = std::iter::once("test").chain(names.iter().map(String::as_str));
    let mut columns = Columns::new(headers, &[]);
    let mut tests: Vec<&ComparisonRow> = Vec::new();
    for row in &table.rows {
        if !tests.iter().any(|have| have.name == row.name && have.group == row.group) {
            tests.push(row);
        }
    }
    for test in tests {
        columns.group(&heading(test));
        let cells = table.configurations.iter().enumerate().map(|(index, one)| {
            if index == table.baseline {
                return wording::value(test.a, test.a_interval);
            }
            let row = table
                .rows
                .iter()
                .find(|row| row.candidate == one.name && row.name == test.name && row.group == test.group);
            row.map_or_else(String::new, |row| {
                let value = wording::value(row.b, row.b_interval);
                format!("{value} {} {}", wording::change(row), wording::mark(row)).trim_end().to_owned()
            })
        });
        columns.row(&plain(&wording::test_name(&test.name)), cells);
    }
    columns.write(paper, 2);
    paper.wrapped_inked(Ink::Faint, "", LEGEND);
}

fn averages(paper: &mut Paper, table: &ComparisonTable, has_intervals: bool) {
    let headers = ["average of", "difference", "A/A floor", "geometric mean"];
    let mut columns = Columns::new(headers, &[headers.len() - 1]);
    for average in &table.averages {
        if table.configurations.len() > 2 {
            columns.group(&plain(&average.candidate));
        }
        columns.row(
            &plain(&wording::average_of(average)),
            [
                format!("{} %", wording::percent(average.symmetric_percent)),
                if has_intervals { wording::floor(average) } else { "no interval".to_owned() },
                wording::geometric(average),
            ],
        );
    }
    columns.write(paper, 2);
    paper.blank();
}
