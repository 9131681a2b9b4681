//! What all machine files have: numbers with their source, and words for what is wrong with a file.

use serde::{Deserialize, Serialize};

/// How the source of a number begins that was chosen so that the model meets published ones.
pub const FITTED: &str = "fitted";

/// A number and where it is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The number.
    pub value: T,
    /// A document, or a word that begins with `fitted` or `assumed`, and why.
    pub source: String,
}

impl<T> Sourced<T> {
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

impl DescriptionError {
    /// What the TOML reader says of `text`, with the line.
    pub(crate) fn of_toml(error: &toml::de::Error, text: &str, file: &str) -> Self {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        Self::Syntax {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            message: error.message().to_owned(),
        }
    }
}
