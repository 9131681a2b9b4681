//! A table of results: one test per line, its values in one field, or one value per line.
//!
//! The first line names the columns, in any order: `name`, `unit`, `better` (higher or lower), `group`, `values` (or
//! `value`), and, if wanted, `kind` (micro or application). Fields are quoted as RFC 4180 says; several values in one
//! field are separated by blanks or semicolons; lines that begin with `#` are notes.

use super::test_list::{Heading, TestList, better, weight};
use super::{Configuration, ImportError};
use crate::compare::SourceKind;

/// A line with its number.
struct Line {
    number: usize,
    fields: Vec<String>,
}

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
    let mut lines = lines(text)?.into_iter();
    let columns = Columns::of(&lines.next().ok_or(ImportError::Unknown)?)?;
    let mut tests = TestList::default();
    for line in lines {
        let place = || format!("line {}", line.number);
        let field = |index: usize| line.fields.get(index).map_or("", String::as_str);
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
    fn of(line: &Line) -> Result<Self, ImportError> {
        let titles: Vec<String> = line.fields.iter().map(|field| field.trim().to_ascii_lowercase()).collect();
        let find = |wanted: &[&str]| titles.iter().position(|title| wanted.contains(&title.as_str()));
        // Without a name and a value it is no table of ours at all.
        let (Some(name), Some(values)) = (find(&["name"]), find(&["values", "value"])) else {
            return Err(ImportError::Unknown);
        };
        let need = |wanted: &str| {
            find(&[wanted]).ok_or_else(|| ImportError::Shape {
                place: format!("line {}", line.number),
                problem: format!(
                    "there is no column {wanted}; the columns are name, unit, better, group, values"
                ),
            })
        };
        let (unit, better, group) = (need("unit")?, need("better")?, need("group")?);
        Ok(Self { name, unit, better, group, values, kind: find(&["kind"]) })
    }
}

fn numbers(place: &dyn Fn() -> String, text: &str) -> Result<Vec<f64>, ImportError> {
    let words = text.split([' ', ';', '\t']).filter(|word| !word.is_empty());
    words
        .map(|word| word.parse().map_err(|_| ImportError::Value { place: place(), value: word.to_owned() }))
        .collect()
}

/// Fields by line; a quoted field may hold commas, doubled quotes and line ends.
fn lines(text: &str) -> Result<Vec<Line>, ImportError> {
    let mut lines = Vec::new();
    let mut line = Line { number: 1, fields: vec![String::new()] };
    let mut quoted = false;
    let mut number = 1;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        number += usize::from(character == '\n');
        let field = line.fields.last_mut().expect("a line begins with one field");
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                field.extend(characters.next());
            }
            '"' if quoted || field.trim().is_empty() => quoted = !quoted,
            '\n' if !quoted => {
                let next = Line { number, fields: vec![String::new()] };
                lines.push(std::mem::replace(&mut line, next));
            }
            ',' if !quoted => line.fields.push(String::new()),
            '\r' if !quoted => {}
            other => field.push(other),
        }
    }
    if quoted {
        return Err(ImportError::Shape {
            place: format!("line {}", line.number),
            problem: "a quote is not closed".to_owned(),
        });
    }
    lines.push(line);
    let is_note = |line: &Line| line.fields[0].trim_start().starts_with('#');
    lines.retain(|line| !is_note(line) && line.fields.iter().any(|field| !field.trim().is_empty()));
    Ok(lines)
}
