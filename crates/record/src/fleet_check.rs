//! What `sidestep fleet check` finds: nodes that are odd, levels of factors that explain differences, states of a minority.

use serde::{Deserialize, Serialize};

/// Version of the document.
pub const FLEET_CHECK_SCHEMA: u32 = 1;

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FleetVerdict {
    /// No node, no level and no state stands out.
    Uniform,
    /// Something stands out.
    Odd,
    /// Too few nodes that may be compared, or too many of them busy.
    #[default]
    CannotTell,
}

/// How certain a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FleetStatus {
    /// Seen in one record of each node: not a fault yet.
    #[default]
    Suspect,
    /// Repeated beside healthy nodes, and seen again.
    Confirmed,
    /// Repeated beside healthy nodes, and not seen again.
    NotSeenAgain,
}

impl FleetStatus {
    /// `not seen again`
    pub const fn words(self) -> &'static str {
        match self {
            Self::Suspect => "suspect",
            Self::Confirmed => "confirmed",
            Self::NotSeenAgain => "not seen again",
        }
    }
}

/// Where in the fleet a node is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetPlace {
    /// The rack, or another group that the map has a row for.
    pub rack: String,
    /// The place in it, from 0.
    pub position: usize,
}

/// One node, by its latest check-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetNode {
    /// Its name.
    pub node: String,
    /// The run.
    pub run_id: String,
    /// When it began, UTC.
    pub started_utc: String,
    /// Index into `strata`.
    pub stratum: usize,
    /// Where it is.
    pub place: FleetPlace,
    /// Metrics beyond the spread of the fleet, after what levels of factors explain.
    pub beyond: usize,
    /// Deviation by family, in the order of `families`, in percent, before anything is explained: above 0 is worse.
    pub deviation_percent: Vec<Option<f64>>,
    /// Whether other programs or guests were at work during its run.
    pub is_busy: bool,
}

/// Nodes that may be compared: one CPU model, preset and set of kernels.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetStratum {
    /// Marketing name of the CPU.
    pub cpu_model: String,
    /// How deeply was measured.
    pub preset: String,
    /// Version of the inner loops.
    pub kernel_set_version: u32,
    /// Nodes.
    pub nodes: usize,
    /// Nodes that were not busy.
    pub quiet_nodes: usize,
    /// Metrics that were judged.
    pub metrics: usize,
    /// Metrics that do not vary, or that fewer than 20 nodes have: not judged.
    pub metrics_skipped: usize,
    /// A node with so many deviating metrics is odd: of all, then by family; `None` if the stratum is not judged.
    pub wide_metrics: Option<Vec<usize>>,
    /// A node with two metrics beyond so many spreads is odd.
    pub narrow_spreads: Option<f64>,
}

/// A metric that deviates.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetDeviation {
    /// Its name, with CPU and memory node.
    pub metric: String,
    /// Its family.
    pub family: String,
    /// By how much, in percent: above 0 is worse.
    pub worse_percent: f64,
}

/// What repeats beside healthy nodes have shown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetRepeat {
    /// The experiment.
    pub experiment: String,
    /// Runs, or nodes where a level is repeated, on the suspect side.
    pub suspect_runs: usize,
    /// The same of the healthy side.
    pub healthy_runs: usize,
    /// The difference, in percent: above 0 is worse.
    pub worse_percent: f64,
    /// Its p by ranks.
    pub p: f64,
}

/// A node that is odd.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetSuspect {
    /// The node.
    pub node: String,
    /// Index into `strata`.
    pub stratum: usize,
    /// How certain it is.
    pub status: FleetStatus,
    /// Whether many metrics deviate, or few by much.
    pub is_wide: bool,
    /// Metrics that deviate,
    pub metrics: usize,
    /// of so many.
    pub of_metrics: usize,
    /// The median of their deviations in percent: above 0 is worse.
    pub worse_percent: f64,
    /// Those that deviate most, in spreads.
    pub worst: Vec<FleetDeviation>,
    /// What all of them share, such as `socket 1`; empty if nothing.
    pub shared: String,
    /// Two healthy nodes to repeat it beside.
    pub matched: Vec<String>,
    /// What repeats have shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<FleetRepeat>,
}

/// A node whose numbers say nothing of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetBusy {
    /// The node.
    pub node: String,
    /// Share of CPU time that other programs used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_share: Option<f64>,
    /// Share of CPU time that the hypervisor gave to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Metrics that deviate.
    pub metrics: usize,
    /// Set where shares are not known: how many times more its numbers scatter than those of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scatter: Option<f64>,
}

/// A level of a factor that explains differences.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetLevel {
    /// The factor, such as `slot`.
    pub factor: String,
    /// The level, such as `0`.
    pub level: String,
    /// Index into `strata`.
    pub stratum: usize,
    /// How certain it is.
    pub status: FleetStatus,
    /// Nodes at this level that were compared,
    pub nodes: usize,
    /// of so many.
    pub of_nodes: usize,
    /// Metrics that differ,
    pub metrics: usize,
    /// of so many.
    pub of_metrics: usize,
    /// The median of the differences in percent: above 0 is worse.
    pub worse_percent: f64,
    /// The metrics that differ most.
    pub worst: Vec<FleetDeviation>,
    /// Levels of other factors that hold nearly the same nodes: which of them is the cause cannot be determined.
    pub tied: Vec<String>,
    /// Levels found before whose nodes overlap with these so that the effects cannot be separated.
    pub confounded: Vec<String>,
    /// Nodes to repeat it on: of this level, and outside.
    pub repeat_on: [Vec<String>; 2],
    /// What repeats have shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<FleetRepeat>,
}

/// A state that a minority of the nodes is in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetMinority {
    /// What it is about: flaw, clock, setting, sdc.
    pub kind: String,
    /// Which one.
    pub id: String,
    /// Index into `strata`.
    pub stratum: usize,
    /// The state.
    pub state: String,
    /// The state of most.
    pub usual: String,
    /// Nodes in it,
    pub nodes: usize,
    /// of so many.
    pub of_nodes: usize,
    /// Some of them.
    pub examples: Vec<String>,
    /// Levels of factors that hold nearly the same nodes.
    pub explained_by: Vec<String>,
    /// Counters of CPUs: the median drift in parts per billion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_ppb: Option<f64>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FleetCheck {
    /// Version of the document.
    pub schema: u32,
    /// The answer in a word.
    pub verdict: FleetVerdict,
    /// The answer in a sentence.
    pub sentence: String,
    /// Names this check: its experiments are called `confirm-` and this.
    pub id: String,
    /// Numbers read.
    pub rows: usize,
    /// Nodes that may be compared.
    pub strata: Vec<FleetStratum>,
    /// Nodes that are odd, those with the most metrics first.
    pub suspects: Vec<FleetSuspect>,
    /// Levels that explain differences, the strongest first.
    pub levels: Vec<FleetLevel>,
    /// States of a minority, the rarest first.
    pub minorities: Vec<FleetMinority>,
    /// Nodes that were busy.
    pub busy: Vec<FleetBusy>,
    /// What else to know, one sentence each.
    pub notes: Vec<String>,
    /// Names of families, for the nodes.
    pub families: Vec<String>,
    /// All nodes by name.
    pub nodes: Vec<FleetNode>,
}
