//! The house rules as code: each rule reads the repository's own text and names what breaks it, by path and line.
//!
//! `tidy/tests.rs` runs them with `cargo test`; `cargo xtask tidy` runs them alone. A rule that cannot be
//! checked is a wish: see STYLE.md for the words, here for the force. The scanner is no parser: it blanks
//! strings and comments and counts braces, which the formatter's regular layout makes enough.

mod circles;
mod documents;
mod examples;
mod layers;
mod length;
mod placement;
mod published;
mod scan;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::path::Path;

pub use layers::manifests;
pub use published::{published_crates, too_many};
pub use scan::Source;

use crate::texts::texts;
use crate::totals::Totals;
use crate::{cargo, dependencies};

/// One breach of a house rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Path from the repository's root.
    pub path: String,
    /// Line, from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What is wrong and what the rule is.
    pub reason: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(formatter, "{}: {}", self.path, self.reason)
        } else {
            write!(formatter, "{}:{}: {}", self.path, self.line, self.reason)
        }
    }
}

/// A rule about one file: its name and how it is checked.
pub type SourceRule = (&'static str, fn(&Source) -> Vec<Violation>);

/// Every rule that looks at one Rust file at a time.
pub const SOURCE_RULES: &[SourceRule] = &[
    ("the first line says what the file is", length::first_line),
    ("files and functions stay short", length::lengths),
    ("lib.rs is a table of contents", length::table_of_contents),
    ("unsafe stands only in kernels, host and clock", placement::unsafe_code),
    ("files are opened only in host, cli, xtask and the clock's platform file", placement::files),
    ("system paths are reached only through host::Root", placement::system_paths),
    ("pure crates touch no clock, thread, process or CPU", placement::purity),
    ("threads are started where they can be refused", placement::threads),
    ("kernels never allocate", placement::allocation),
    ("code of one architecture stands in `arch`", placement::architectures),
    ("printing stands only in cli and xtask", placement::printing),
    ("modules are named by a noun of the field", words::module_names),
    ("names have no retired word", words::retired_names),
    ("comments and output speak in the words of the field", documents::phrases_in_code),
    ("nothing is left dead or undone", words::dead_markers),
    ("unwrap stands only in tests", words::unwraps),
];

/// A rule about the text of any file.
pub type TextRule = (&'static str, fn(&str, &str) -> Vec<Violation>);

/// Every rule that looks at any text file: its path and its text.
pub const TEXT_RULES: &[TextRule] = &[
    ("no path of the machine it was written on", words::machine_paths),
    ("documents stay short", documents::lengths),
    ("documents speak in the words of the field", documents::phrases),
];

/// All breaches of all rules in the repository at `root`.
pub fn violations(root: &Path) -> anyhow::Result<Vec<Violation>> {
    let texts = texts(root)?;
    let mut found = layers::layers(&manifests(root)?);
    found.extend(documents::links(&texts, &|path| root.join(path).exists()));
    found.extend(documents::files(&texts));
    found.extend(examples::examples(&texts));
    for (path, text) in &texts {
        found.extend(TEXT_RULES.iter().flat_map(|(_, rule)| rule(path, text)));
    }
    let sources = sources(&texts);
    for source in &sources {
        found.extend(SOURCE_RULES.iter().flat_map(|(_, rule)| rule(source)));
    }
    found.extend(circles::circles(&sources));
    found.sort();
    Ok(found)
}

fn sources(texts: &[(String, String)]) -> Vec<Source> {
    let files = texts.iter().filter(|(path, _)| has_extension(path, "rs"));
    files.map(|(path, text)| Source::new(path, text)).collect()
}

/// `cargo xtask tidy`.
///
/// # Errors
/// The repository cannot be read.
pub fn run() -> anyhow::Result<Totals> {
    let mut found = violations(&cargo::root())?;
    found.extend(too_many(published_crates()?.len()));
    let mut totals = dependencies::check()?;
    if found.is_empty() {
        totals.add(Totals::one_passed());
    }
    for violation in &found {
        totals.add(Totals::one_failed(violation.to_string()));
    }
    Ok(totals)
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}
