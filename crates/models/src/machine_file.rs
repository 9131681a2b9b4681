//! What all machine files have: numbers with their source, and words for what is wrong with a file.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How the source of a number begins that was chosen so that the model meets published ones.
pub const FITTED: &str = "fitted";

/// A number and where it is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
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

/// A problem from texts of any kind.
pub(crate) fn problem(key: impl Into<String>, problem: impl Into<String>) -> Problem {
    (key.into(), problem.into())
}

/// Whether a machine file says that it is of this kind, well formed or not otherwise.
pub(crate) fn is_of_kind(text: &str, kind: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<String>,
    }
    toml::from_str::<Kind>(text).is_ok_and(|found| found.kind.as_deref() == Some(kind))
}

/// What a machine file holds; `file` is its name for messages.
pub(crate) fn decoded<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, DescriptionError> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        DescriptionError::Syntax {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            message: error.message().to_owned(),
        }
    })
}

/// A number of a machine file, the least and the greatest that it may be.
pub(crate) type Bounded<K> = (K, f64, f64, f64);

/// The first number that is outside of its bounds, or is none.
pub(crate) fn outside<K>(numbers: impl IntoIterator<Item = Bounded<K>>) -> Option<(K, String)> {
    let found = numbers.into_iter().find(|(_, value, low, high)| !(low..=high).contains(&value));
    found.map(|(key, value, low, high)| (key, format!("is {value}; give {low} to {high}")))
}

/// The machine, unless it cannot be.
pub(crate) fn unless_impossible<T>(
    machine: T,
    problem: Option<(impl Into<String>, String)>,
    file: &str,
) -> Result<T, DescriptionError> {
    match problem {
        None => Ok(machine),
        Some((key, problem)) => {
            Err(DescriptionError::Impossible { file: file.to_owned(), key: key.into(), problem })
        }
    }
}
