//! The whole description of one machine, and where two sources about it do not say the same.

use serde::{Deserialize, Serialize};

use crate::{Environment, Identity, Tlb, Topology};

/// Everything sidestep knows about a machine before it measures anything.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Who the CPU says it is.
    pub identity: Identity,
    /// How its CPUs, caches and nodes hang together.
    pub topology: Topology,
    /// TLBs as CPUID describes them; empty where it does not.
    pub tlbs: Vec<Tlb>,
    /// Kernel, pages, clock sources, limits.
    pub environment: Environment,
    /// Where sysfs and CPUID contradict each other.
    pub disagreements: Vec<Disagreement>,
    /// What could not be read and why, one line each: absence is reported, never guessed.
    pub missing: Vec<String>,
}

/// A place where sysfs and CPUID contradict each other, or one of them itself; `diagnosis` makes a finding of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disagreement {
    /// What they disagree on: `L3 size`, `threads per core`.
    pub subject: String,
    /// What sysfs or procfs says; where `sources` names others, what the first of them says.
    pub sysfs: String,
    /// What CPUID says; where `sources` names others, what the second of them says.
    pub cpuid: String,
    /// The two that contradict each other, where they are not sysfs and CPUID: `CPUID leaf 1` and `CPUID leaf 0BH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<[String; 2]>,
}

impl Disagreement {
    /// Two parts of one source that contradict each other: each with its name and what it says.
    pub fn between(subject: &str, [first, second]: [(&str, String); 2]) -> Self {
        Self {
            subject: subject.to_owned(),
            sysfs: first.1,
            cpuid: second.1,
            sources: Some([first.0.to_owned(), second.0.to_owned()]),
        }
    }

    /// The names of the two that contradict each other.
    pub fn sources(&self) -> [&str; 2] {
        self.sources.as_ref().map_or(["sysfs", "CPUID"], |[first, second]| [first, second])
    }

    /// Who says what of the subject.
    pub fn sentence(&self) -> String {
        let [first, second] = self.sources();
        format!("{}: {first} says {}, {second} says {}", self.subject, self.sysfs, self.cpuid)
    }
}
