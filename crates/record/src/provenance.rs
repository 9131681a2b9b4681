//! Who measured, when, with which version, under which conditions.

use machine::CpuSet;
use serde::{Deserialize, Serialize};

/// Origin of a record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Name of the node in its fleet, only where the record is for a fleet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What started the run on this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// The experiment of the fleet that the run is a part of; `None` for an ordinary check-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// The arm of that experiment which this node was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Hash of the serial numbers of system, board and memory, under a key that only the fleet has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serials_hash: Option<String>,
    /// Version of the inner loops, `kernels::KERNEL_SET`; `None` in records that do not say, which have the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_set: Option<u32>,
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

/// What started a run: a scheduler, with its names of the job and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Engine {
    /// `slurm`, `kubernetes`, `ansible`.
    pub name: String,
    /// Number or name of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Number of the step within the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Number of the task within the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// A difference planted to see whether it is found: the windows of some rows, as the sampler returns them, times a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Planted {
    /// A part of the names of raw series, or `class:` and the name of a class of them.
    pub row: String,
    /// Longer by this factor, above 0.
    pub factor: f64,
}
