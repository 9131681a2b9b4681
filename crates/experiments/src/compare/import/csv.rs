//! A table of results: one test per line, its values in one field, or one value per line.
//!
//! The first line names the columns, in any order: `name`, `unit`, `better` (higher or lower), `group`, `values` (or
//! `value`), and, if wanted, `kind` (micro or application). Fields are quoted as RFC 4180 says; several values in one
//! field are separated by blanks or semicolons; lines that begin with `#` are notes.

use machine::{TableLine, UnclosedQuote, table_lines};

use super::test_list::{Heading, TestList, better, weight};
use super::{Configuration, ImportError};
use crate::compare::SourceKind;

/// Where each column stands.
struct Columns {
    name: usize,
    unit: usize,
    better: usize,
    group: usize,
    values: usize,
    kind: Option<usize>,
}

pub(super) fn read(name: &str, text: &str) -> Result<Configuration, ImportError> {
    let unclosed = |UnclosedQuote(line)| ImportError::Shape {
        place: format!("line {line}"),
        problem: "a quote is not closed".to_owned(),
    };
    let mut lines = table_lines(text, ',').map_err(unclosed)?.into_iter();
    let columns = Columns::of(&lines.next().ok_or(ImportError::Unknown)?)?;
    let mut tests = TestList::default();
    for line in lines {
        let place = || format!("line {}", line.number);
        let field = |index: usize| line.field(index);
        let heading = Heading {
            name: field(columns.name),
            group: field(columns.group),
            unit: field(columns.unit),
            better: better(&place, field(columns.better))?,
            weight: weight(&place, columns.kind.map_or("", field))?,
        };
        tests.add(&place, &heading, &numbers(&place, field(columns.values))?)?;
    }
    Ok(tests.finish(name, SourceKind::Csv, Vec::new(), Vec::new()))
}

impl Columns {
    fn of(line: &TableLine) -> Result<Self, ImportError> {
        // Without a name and a value it is no table of ours at all.
        let (Some(name), Some(values)) = (line.column(&["name"]), line.column(&["values", "value"])) else {
            return Err(ImportError::Unknown);
        };
        let need = |wanted: &str| {
            line.column(&[wanted]).ok_or_else(|| ImportError::Shape {
                place: format!("line {}", line.number),
                problem: format!(
                    "there is no column {wanted}; the columns are name, unit, better, group, values"
                ),
            })
        };
        let (unit, better, group) = (need("unit")?, need("better")?, need("group")?);
        Ok(Self { name, unit, better, group, values, kind: line.column(&["kind"]) })
    }
}

fn numbers(place: &dyn Fn() -> String, text: &str) -> Result<Vec<f64>, ImportError> {
    let words = text.split([' ', ';', '\t']).filter(|word| !word.is_empty());
    words
        .map(|word| word.parse().map_err(|_| ImportError::Value { place: place(), value: word.to_owned() }))
        .collect()
}
