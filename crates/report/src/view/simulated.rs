//! What the pages of all simulated machines share: what they are called, and where their numbers come from.

use models::FITTED;
use stats::text::{capital, joined};

use crate::page::{Page, Section, Statement};

/// How the source of a number begins that is a guess.
const ASSUMED: &str = "assumed";
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

/// Which numbers were fitted, assumed or are unknown, from their names and sources.
fn grounds(numbers: &[[String; 3]]) -> Statement {
    let of = |start: &str| {
        let those = numbers.iter().filter(|[_, _, source]| source.starts_with(start));
        let names = joined(those.map(|[name, ..]| name), ", ");
        (!names.is_empty()).then(|| format!("{start}: {names}"))
    };
    let kinds = joined([FITTED, ASSUMED, UNKNOWN].into_iter().filter_map(of), "; ");
    Statement::faint(if kinds.is_empty() {
        "Every number of the machine has a source.".to_owned()
    } else {
        capital(&format!("{kinds}; the machine file gives the reasons."))
    })
}
