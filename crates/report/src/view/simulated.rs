//! What the pages of all simulated machines share: what they are called, and where their numbers come from.

use machine::Hertz;
use models::FITTED;
use serde::Serialize;
use serde_json::Value;
use stats::text::{capital, joined};

use crate::number::frequency;
use crate::page::{Page, Section, Statement};

/// How the source of a number begins that is a guess.
const ASSUMED: &str = "assumed";
/// Numbers without a source that are named on a first screen.
const NAMED: usize = 5;
/// The same of one that says "unknown".
const UNKNOWN: &str = "unknown";

/// The page of a machine that was described, not measured: what its numbers rest on comes last. Of each number its name, its value
/// with the unit, and its source.
pub(super) fn page(title: &str, numbers: Vec<[String; 3]>, mut page: Page) -> Page {
    page.subject = format!("{title}: simulation, nothing measured");
    if !numbers.is_empty() {
        page.because.push(grounds(&numbers));
        let facts = numbers.into_iter().map(|[name, value, source]| (name, format!("{value}; {source}")));
        page.sections.push(Section::new("numbers", "The machine").facts(facts).detailed());
    }
    page
}

/// Each number of a machine that states its source, by its place in the file, with its value and the source.
pub(super) fn numbers(machine: &impl Serialize) -> Vec<[String; 3]> {
    let mut found = Vec::new();
    collect(&serde_json::to_value(machine).unwrap_or_default(), "", &mut found);
    found
}

fn collect(below: &Value, place: &str, found: &mut Vec<[String; 3]>) {
    let within = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match below {
        Value::Object(fields) => match (fields.get("value"), fields.get("source")) {
            (Some(value), Some(Value::String(source))) => {
                found.push([place.to_owned(), written(value, place), source.clone()]);
            }
            _ => fields.iter().for_each(|(name, below)| collect(below, &within(name), found)),
        },
        Value::Array(rows) => {
            for row in rows {
                let name = row.get("name").and_then(Value::as_str);
                collect(row, &name.map_or_else(|| place.to_owned(), within), found);
            }
        }
        _ => {}
    }
}

/// A value as people read it; the unit is in the name of its place.
fn written(value: &Value, place: &str) -> String {
    match value {
        Value::Number(number) if place.ends_with("hz") || place.ends_with("hz_by_awake") => {
            frequency(Hertz(number.as_f64().unwrap_or_default()))
        }
        Value::Number(number) => number.as_f64().map_or_else(String::new, |number| number.to_string()),
        Value::String(text) => text.clone(),
        Value::Array(row) if row.iter().all(Value::is_array) => {
            joined(row.iter().map(|pair| written(pair, place).replace(", ", "-")), " ")
        }
        Value::Array(row) => joined(row.iter().map(|one| written(one, place)), ", "),
        other => other.to_string(),
    }
}

/// Which numbers were fitted, assumed or are unknown, from their names and sources; of many only how many.
fn grounds(numbers: &[[String; 3]]) -> Statement {
    let of = |start: &'static str| {
        let those = numbers.iter().filter(move |[_, _, source]| source.starts_with(start));
        let names: Vec<&str> = those.map(|[name, ..]| name.as_str()).collect();
        (!names.is_empty()).then_some((start, names))
    };
    let kinds: Vec<(&str, Vec<&str>)> = [FITTED, ASSUMED, UNKNOWN].into_iter().filter_map(of).collect();
    let all: usize = kinds.iter().map(|(_, names)| names.len()).sum();
    Statement::faint(if kinds.is_empty() {
        "Every number of the machine has a source.".to_owned()
    } else if all <= NAMED {
        let named = joined(kinds.iter().map(|(start, names)| format!("{start}: {}", names.join(", "))), "; ");
        capital(&format!("{named}; the machine file gives the reasons."))
    } else {
        let counted = joined(kinds.iter().map(|(start, names)| format!("{} {start}", names.len())), ", ");
        format!("Numbers of the machine: {counted}; --long has the sources.")
    })
}
