//! The whole description of one machine.

use serde::{Deserialize, Serialize};

use crate::{Disagreement, Environment, Identity, Tlb, Topology};

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
