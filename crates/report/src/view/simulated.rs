//! What the pages of all simulated machines share: what they are called, and where their numbers come from.

use models::FITTED;
use stats::text::capital;

use crate::page::{Page, Section, Statement};

/// How the source of a number begins that is a guess.
const ASSUMED: &str = "assumed";
/// The same of one that nobody knows.
const UNKNOWN: &str = "unknown";

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
    /// How it was run.
    pub(super) about: Vec<String>,
}

impl Simulated {
    /// The page: what the machine's numbers rest on comes last.
    pub(super) fn page(mut self) -> Page {
        if !self.numbers.is_empty() {
            self.because.push(grounds(&self.numbers));
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

/// Which numbers were fitted, assumed or are unknown, from their names and sources.
fn grounds(numbers: &[[String; 3]]) -> Statement {
    let of = |start: &str| {
        let names: Vec<&str> = numbers
            .iter()
            .filter(|[_, _, source]| source.starts_with(start))
            .map(|[name, ..]| name.as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{start}: {}", names.join(", ")))
    };
    let kinds: Vec<String> = [FITTED, ASSUMED, UNKNOWN].into_iter().filter_map(of).collect();
    Statement::faint(if kinds.is_empty() {
        "Every number of the machine has a source.".to_owned()
    } else {
        capital(&format!("{}; the machine file gives the reasons.", kinds.join("; ")))
    })
}
