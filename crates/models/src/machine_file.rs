//! What all machine files have: numbers with their source, and words for what is wrong with a file.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How the source of a number begins that was chosen so that the model meets published ones.
pub const FITTED: &str = "fitted";

/// A number and where it is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The number.
    pub value: T,
    /// A document, or a word that begins with `fitted` or `assumed`, and why.
    pub source: String,
}

impl<T> Sourced<T> {
    /// A number with its source.
    pub fn new(value: T, source: &str) -> Self {
        Self { value, source: source.to_owned() }
    }

    /// True if the number was chosen so that the model meets published ones.
    pub fn is_fitted(&self) -> bool {
        self.source.starts_with(FITTED)
    }
}

/// Why a machine file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// Not TOML, or not a machine.
    #[error("{file}, line {line}: {message}; compare with the machines that come with sidestep")]
    Syntax {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Well formed, but no machine can be so.
    #[error("{file}: {key} {problem}")]
    Impossible {
        /// The file.
        file: String,
        /// Where in it.
        key: String,
        /// What is wrong and what would be right.
        problem: String,
    },
}

/// Where in a machine something is wrong, and what.
pub(crate) type Problem = (String, String);

/// Whether something can be; the first thing that cannot ends the look at a machine.
pub(crate) type Possible = Result<(), Problem>;

/// Holds a condition: what is wrong otherwise, and what would be right, is said of the key.
pub(crate) fn require(holds: bool, key: impl Into<String>, problem: impl FnOnce() -> String) -> Possible {
    if holds { Ok(()) } else { Err((key.into(), problem())) }
}

/// Holds a number to its bounds; what is no number is outside.
// Bounds are written where they are used.
#[expect(clippy::needless_pass_by_value)]
pub(crate) fn within<T: PartialOrd + Display>(
    key: impl Into<String>,
    value: T,
    bounds: RangeInclusive<T>,
) -> Possible {
    let (low, high) = (bounds.start(), bounds.end());
    require(bounds.contains(&value), key, || format!("is {value}; give {low} to {high}"))
}

/// Holds the kind that a file says it is of.
pub(crate) fn require_kind(found: &str, kind: &str) -> Possible {
    require(found == kind, "kind", || format!("is {found:?}; give {kind:?}"))
}

/// Whether a machine file says that it is of this kind, well formed or not otherwise.
pub(crate) fn is_of_kind(text: &str, kind: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<String>,
    }
    toml::from_str::<Kind>(text).is_ok_and(|found| found.kind.as_deref() == Some(kind))
}

/// The machine that a file describes, if it is well formed and can be; `file` is its name for messages.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    file: &str,
    possible: impl FnOnce(&T) -> Possible,
) -> Result<T, DescriptionError> {
    let machine: T = toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        DescriptionError::Syntax {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            message: error.message().to_owned(),
        }
    })?;
    match possible(&machine) {
        Ok(()) => Ok(machine),
        Err((key, problem)) => Err(DescriptionError::Impossible { file: file.to_owned(), key, problem }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::DescriptionError;

    /// Holds that each of these changes to the text of a machine is refused with the file and a word of the problem, and so is an
    /// unknown key, with its line.
    pub(crate) fn are_refused<T: std::fmt::Debug>(
        text: &str,
        parse: impl Fn(&str, &str) -> Result<T, DescriptionError>,
        changes: &[(&str, &str, &str)],
    ) {
        for (from, to, said) in changes {
            assert!(text.contains(from), "{from}");
            let error = parse(&text.replacen(from, to, 1), "f.toml").expect_err(to).to_string();
            assert!(error.contains("f.toml") && error.contains(said), "{error}");
        }
        let error = parse(&format!("wings = 2\n{text}"), "f.toml").expect_err("unknown").to_string();
        assert!(error.contains("f.toml, line 1") && error.contains("wings"), "{error}");
    }
}
