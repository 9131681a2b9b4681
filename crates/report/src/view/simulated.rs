//! What the pages of all simulated machines share: what they are called, and where their numbers come from.

use std::collections::BTreeSet;

use models::FITTED;
use stats::text::capital;

use crate::page::{Section, Statement};

/// How the source of a number begins that is a guess.
const ASSUMED: &str = "assumed";
/// The same of one that was measured.
const MEASURED: &str = "measured";
/// The same of those that are missing.
const MISSING: [&str; 2] = ["not measured", "unknown"];

/// What the page is about.
pub(super) fn subject(title: &str) -> String {
    format!("{title}: simulation, nothing measured")
}

/// Which numbers were measured, fitted, assumed or are missing, from their names and sources; `reasons` says where to read why.
pub(super) fn grounds(sources: &[(&str, &str)], reasons: &str) -> Statement {
    let names = |starts: &[&str]| -> Vec<&str> {
        let is_of = |source: &str| starts.iter().any(|start| source.starts_with(start));
        sources.iter().filter(|(_, source)| is_of(source)).map(|(name, _)| *name).collect()
    };
    // The same kind of number may be measured of many units.
    let kinds = names(&[MEASURED]).into_iter().map(|name| name.rsplit('.').next().unwrap_or(name));
    let kinds = kinds.collect::<BTreeSet<_>>();
    let told: Vec<String> = [
        ("measured here", kinds.into_iter().collect()),
        ("fitted", names(&[FITTED])),
        ("assumed", names(&[ASSUMED])),
        ("unknown", names(&MISSING)),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(word, names)| format!("{word}: {}", names.join(", ")))
    .collect();
    let text = if told.is_empty() {
        "Every number of the machine has a source.".to_owned()
    } else {
        capital(&format!("{}; {reasons}.", told.join("; ")))
    };
    Statement::faint(text)
}

/// Where the reasons of a machine's numbers stand, if it comes from a file.
pub(super) const IN_THE_FILE: &str = "the machine file gives the reasons";

/// Each number of a machine: its name, its value with the unit, its source.
pub(super) fn numbers(numbers: impl IntoIterator<Item = [String; 3]>) -> Section {
    let facts = numbers.into_iter().map(|[name, value, source]| (name, format!("{value}; {source}")));
    Section::new("numbers", "The machine").facts(facts).detailed()
}
