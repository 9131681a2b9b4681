//! A table with the columns name, unit, better, group and values, as CSV: one test or one value a line.

use machine::{TableLine, UnclosedQuote, table_lines};
use record::Better;

use super::test_list::{Heading, Reading, Results, number};
use super::{Format, ImportError, Source};

pub(super) const TABLE: Format = Format { word: "csv", is, read };

fn is(source: &Source<'_>) -> bool {
    source.has_columns(&["name", "values"]) || source.has_columns(&["name", "value"])
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    let mut lines = lines(source.text)?.into_iter();
    let head = lines.next().ok_or(ImportError::Unknown)?;
    let column = |names: &[&str]| {
        let problem =
            || format!("there is no column {}; the columns are name, unit, better, group, values", names[0]);
        let missing = || ImportError::Shape { place: format!("line {}", head.number), problem: problem() };
        head.column(names).ok_or_else(missing)
    };
    let (name, values) = (column(&["name"])?, column(&["values", "value"])?);
    let (unit, better, group) = (column(&["unit"])?, column(&["better"])?, column(&["group"])?);
    let kind = head.column(&["kind"]);
    for line in lines {
        let place = format!("line {}", line.number);
        let word = |index: usize| line.field(index).trim().to_ascii_lowercase();
        let better = match word(better).as_str() {
            "higher" => Some(Better::Higher),
            "lower" => Some(Better::Lower),
            _ => None,
        };
        let heading = Heading::program(line.field(name), line.field(group), line.field(unit), better);
        let heading = match kind.map(word).unwrap_or_default().as_str() {
            "micro" => heading.micro(),
            "" | "application" => heading,
            other => {
                let problem = format!("kind is {other:?}; write micro or application");
                return Err(ImportError::Shape { place, problem });
            }
        };
        let words = line.field(values).split([' ', ';', '\t']).filter(|word| !word.is_empty());
        into.of("").add(&place, &heading, &words.map(number).collect::<Vec<Reading>>());
    }
    Ok(())
}

/// The lines of CSV.
pub(super) fn lines(text: &str) -> Result<Vec<TableLine>, ImportError> {
    table_lines(text, ',').map_err(|UnclosedQuote(line)| ImportError::Shape {
        place: format!("line {line}"),
        problem: "a quote is not closed".to_owned(),
    })
}
