//! Who measured, when, with which version, under which conditions.

use machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Origin of a record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Provenance {
    /// Version of sidestep.
    pub tool_version: String,
    /// Arguments after the program's name; of paths the last part.
    pub arguments: Vec<String>,
    /// When the run began, UTC, RFC 3339.
    pub started_utc: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Host name, only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// The boot it ran in, as the kernel names it (`/proc/sys/kernel/random/boot_id`): a new one at every boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// True if the record holds every value of the kernel's command line, as was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full_command_line: bool,
    /// CPUs that were measured.
    pub cpus: CpuSet,
    /// Time budget in seconds.
    pub budget_s: f64,
    /// Effective user is root.
    pub root: bool,
    /// What the run had to do without, and why: one line each.
    pub without: Vec<String>,
    /// Windows that were made longer on purpose: such a record says nothing of its machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Planted>,
}

/// A difference planted to see whether it is found: the windows of some rows, as the sampler returns them, times a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Planted {
    /// A part of the names of raw series, or `class:` and the name of a class of them.
    pub row: String,
    /// Longer by this factor, above 0.
    pub factor: f64,
}
