//! The one reader of machine files: which kind a file is of, numbers with their source, and words for what is wrong with a file.

use std::fmt::Display;
use std::ops::RangeInclusive;

use record::{TomlError, read_toml};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

/// How the source of a number begins that was chosen so that the model meets published ones.
pub const FITTED: &str = "fitted";

machine::named! {
    /// What is simulated of a machine.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MachineKind {
        /// Caches, translation buffers, page walks and prefetch; these files state no kind.
        Memory = "memory",
        /// Sockets joined by links.
        Sockets = "linked-sockets",
        /// Time-stamp counters, and the kernel's clock on them.
        Counters = "time-stamp-counters",
        /// Threads on units that they share.
        Threads = "scheduling",
    }
}

impl MachineKind {
    /// The kind that a file says it is of, well formed or not otherwise; memory where it says none.
    pub fn of(text: &str) -> Self {
        stated_kind(text).and_then(|kind| Self::from_name(&kind)).unwrap_or(Self::Memory)
    }

    /// The same for a file of a user: a typing error is no memory.
    ///
    /// # Errors
    /// `Impossible` where the file states an unknown kind, or none and has no cache.
    pub fn judged(text: &str, file: &str) -> Result<Self, DescriptionError> {
        let kinds = Self::ALL.map(Self::name).join(", ");
        let of = |problem: &str| DescriptionError::Impossible {
            file: file.to_owned(),
            key: "kind".to_owned(),
            problem: format!("{problem}; give one of {kinds}"),
        };
        // What is no TOML is reported with its line by whoever reads it.
        match stated(text) {
            Some(Stated { kind: Some(kind), .. }) => {
                Self::from_name(&kind).ok_or_else(|| of(&format!("is {kind:?}")))
            }
            Some(Stated { cache: None, .. }) => Err(of("is not there, and without caches it is no memory")),
            _ => Ok(Self::Memory),
        }
    }
}

/// A machine that a file can describe.
pub trait MachineFile: DeserializeOwned {
    /// The machine that a text describes, possible or not. Each kind has its own body, `read_toml(text)`, so that the reader of it is
    /// built once, here, and not in each crate that reads files.
    ///
    /// # Errors
    /// The text is no machine of this kind.
    fn read(text: &str) -> Result<Self, TomlError>;

    /// The kind that such files are of.
    const KIND: MachineKind;

    /// Whether something can be: else where in the machine it is wrong, what is wrong, and what would be right.
    ///
    /// # Errors
    /// The first thing that cannot be.
    fn possible(&self) -> Result<(), (String, String)>;
}

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

/// Whether something can be: else where in a machine it is wrong, and what.
pub(crate) type Possible = Result<(), (String, String)>;

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

/// The machine that a file describes, if it is of this kind, well formed and can be; `file` is its name for messages.
///
/// # Errors
/// `Syntax` with the line where the text is no machine, `Impossible` where no machine can be so.
pub fn parse<M: MachineFile>(text: &str, file: &str) -> Result<M, DescriptionError> {
    let syntax = |TomlError { line, path, reason }| {
        // An unknown field is named in the reason.
        let is_named = path == "." || reason.starts_with("unknown field");
        let message = if is_named { reason } else { format!("{path}: {reason}") };
        DescriptionError::Syntax { file: file.to_owned(), line, message }
    };
    let machine = M::read(text).map_err(syntax)?;
    let is_of_kind = require(MachineKind::of(text) == M::KIND, "kind", || {
        format!("is {:?}; give {:?}", stated_kind(text).unwrap_or_default(), M::KIND.name())
    });
    is_of_kind.and_then(|()| machine.possible()).map_err(|(key, problem)| DescriptionError::Impossible {
        file: file.to_owned(),
        key,
        problem,
    })?;
    Ok(machine)
}

/// What tells the kind of a file.
#[derive(Deserialize)]
struct Stated {
    kind: Option<String>,
    cache: Option<IgnoredAny>,
}

fn stated(text: &str) -> Option<Stated> {
    read_toml(text).ok()
}

fn stated_kind(text: &str) -> Option<String> {
    stated(text)?.kind
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{MachineFile, parse};

    /// Holds that each of these changes to the text of a machine is refused with the file and a word of the problem, and so is an
    /// unknown key, with its line.
    pub(crate) fn are_refused<M: MachineFile + std::fmt::Debug>(name: &str, changes: &[(&str, &str, &str)]) {
        let text = crate::known_machine(name).expect(name).text;
        for (from, to, problem) in changes {
            assert!(text.contains(from), "{from}");
            let error = parse::<M>(&text.replacen(from, to, 1), "f.toml").expect_err(to).to_string();
            assert!(error.contains("f.toml") && error.contains(problem), "{error}");
        }
        let error = parse::<M>(&format!("wings = 2\n{text}"), "f.toml").expect_err("unknown").to_string();
        assert!(error.contains("f.toml, line 1") && error.contains("wings"), "{error}");
    }
}
