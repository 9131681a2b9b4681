//! Architectures: which flaws can be on which machine at all.

use std::fmt;

use record::FlawEvidence;
use serde::{Deserialize, Serialize};

use crate::Flaw;

/// An architecture that the catalogue knows flaws of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// x86, 32 and 64 bits.
    X86,
    /// Arm CPUs; `arm64` is what Linux calls them.
    Arm64,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::X86 => "x86",
            Self::Arm64 => "arm64",
        })
    }
}

impl Architecture {
    /// That of an entry that names none.
    pub(crate) fn default_list() -> Vec<Self> {
        vec![Self::X86]
    }

    /// True of what an entry has that names none.
    pub(crate) fn is_default(list: &[Self]) -> bool {
        list == [Self::X86]
    }

    /// That of a machine; `None` if it is another or nothing tells.
    pub(crate) fn of(evidence: &FlawEvidence) -> Option<Self> {
        if let Some(name) = &evidence.other_architecture {
            return (name.starts_with("aarch64") || name.starts_with("arm")).then_some(Self::Arm64);
        }
        if evidence.cpus.iter().any(|cpu| cpu.arm.is_some()) {
            return Some(Self::Arm64);
        }
        (!evidence.cpus.is_empty() || !evidence.flags.is_empty()).then_some(Self::X86)
    }
}

/// Why a machine cannot have a flaw by its architecture alone, if so.
pub(crate) fn foreign(flaw: &Flaw, evidence: &FlawEvidence) -> Option<String> {
    let here = Architecture::of(evidence)?;
    (!flaw.architectures.contains(&here)).then(|| format!("an {} flaw; this is {here}", names(flaw)))
}

/// The architectures of an entry, for a sentence.
pub(crate) fn names(flaw: &Flaw) -> String {
    let names: Vec<String> = flaw.architectures.iter().map(ToString::to_string).collect();
    names.join(" and ")
}
