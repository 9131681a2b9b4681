//! What the pages of all simulated machines share: what they are called, and where their numbers come from.

use std::collections::BTreeSet;

use models::FITTED;
use stats::text::capital;

use crate::page::{Page, Section, Statement};

/// How the source of a number begins that is a guess.
const ASSUMED: &str = "assumed";
/// The same of one that was measured.
const MEASURED: &str = "measured";
/// The same of those that are missing.
const MISSING: [&str; 2] = ["not measured", "unknown"];

/// Where the reasons of a machine's numbers stand, if it comes from a file.
pub(super) const IN_THE_FILE: &str = "the machine file gives the reasons";

/// A simulated machine: what is answered and why, then what its numbers rest on.
pub(super) struct Simulated {
    /// What the page is about.
    pub(super) subject: String,
    /// The number that was asked for.
    pub(super) answer: Statement,
    /// Why, and how near that is to what was published.
    pub(super) because: Vec<Statement>,
    /// Rows with published numbers beside them, curves, the fit.
    pub(super) sections: Vec<Section>,
    /// Each number of the machine: its name, its value with the unit, its source.
    pub(super) numbers: Vec<[String; 3]>,
    /// Where to read the reasons of those that are fitted or assumed.
    pub(super) reasons: &'static str,
    /// How it was run.
    pub(super) about: Vec<String>,
}

impl Simulated {
    /// The page: what the machine's numbers rest on comes last.
    pub(super) fn page(mut self) -> Page {
        if !self.numbers.is_empty() {
            self.because.push(grounds(&self.numbers, self.reasons));
            let facts =
                self.numbers.into_iter().map(|[name, value, source]| (name, format!("{value}; {source}")));
            self.sections.push(Section::new("numbers", "The machine").facts(facts).detailed());
        }
        Page {
            subject: self.subject,
            answer: self.answer,
            because: self.because,
            sections: self.sections,
            about: self.about,
            ..Page::default()
        }
    }
}

/// What a page is about whose machine was described, not measured.
pub(super) fn subject(title: &str) -> String {
    format!("{title}: simulation, nothing measured")
}

/// Which numbers were measured, fitted, assumed or are missing, from their names and sources; `reasons` says where to read why.
fn grounds(numbers: &[[String; 3]], reasons: &str) -> Statement {
    let names = |starts: &[&str]| -> Vec<&str> {
        let is_of = |source: &str| starts.iter().any(|start| source.starts_with(start));
        numbers.iter().filter(|[_, _, source]| is_of(source)).map(|[name, ..]| name.as_str()).collect()
    };
    // The same kind of number may be measured of many units.
    let measured = names(&[MEASURED]).into_iter().map(|name| name.rsplit('.').next().unwrap_or(name));
    let measured = measured.collect::<BTreeSet<_>>();
    let kinds: Vec<String> = [
        ("measured here", measured.into_iter().collect()),
        ("fitted", names(&[FITTED])),
        ("assumed", names(&[ASSUMED])),
        ("unknown", names(&MISSING)),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(word, names)| format!("{word}: {}", names.join(", ")))
    .collect();
    let text = if kinds.is_empty() {
        "Every number of the machine has a source.".to_owned()
    } else {
        capital(&format!("{}; {reasons}.", kinds.join("; ")))
    };
    Statement::faint(text)
}
