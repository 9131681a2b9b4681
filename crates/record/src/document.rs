//! The record itself.

use std::collections::BTreeMap;

use machine::{Hertz, Machine};
use serde::{Deserialize, Serialize};

use crate::{
    ClockCheck, ClockCost, ClockRead, Cores, CpuShare, Finding, FlawEvidence, FlawVerdict, Guards, Levels,
    Memory, Neighbours, Provenance, QuestionAnswer, QuestionSample, Sockets,
};

/// Version of the document. It rises when a reader of the old one would misread the new one, or could not read it: a
/// new field at the top does not raise it, a new variant of an enum does.
pub const SCHEMA: u32 = 1;

/// One run of sidestep.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Version of the document, `SCHEMA` when written by this version.
    pub schema: u32,
    /// Who measured, when, how.
    #[serde(default)]
    pub provenance: Provenance,
    /// What the machine claims to be.
    #[serde(default)]
    pub machine: Machine,
    /// What was planned, what ran, what was dropped and why.
    #[serde(default)]
    pub plan: Plan,
    /// The processes that measured one after the other, when there was more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epochs: Vec<EpochRun>,
    /// What disturbed the run.
    #[serde(default)]
    pub guards: Guards,
    /// Findings, most important first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What the questions of the check-up came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// What was measured for them alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<QuestionSample>,
    /// The effective hierarchy.
    #[serde(default)]
    pub levels: Levels,
    /// Results about memory.
    #[serde(default)]
    pub memory: Memory,
    /// Results about cores.
    #[serde(default)]
    pub cores: Cores,
    /// Prices of time sources. Those of `clock_cost` that tell of the machine are here as well.
    #[serde(default)]
    pub clocks: Vec<ClockRead>,
    /// Whether the counters of all CPUs agree, and what the kernel says of its clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_check: Option<ClockCheck>,
    /// What every way to read the time costs, alone and in many threads, and whether that would come out again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_cost: Option<ClockCost>,
    /// Every CPU against the memory of every node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<Sockets>,
    /// Whether others were at work meanwhile, and how this run stands among earlier ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// Verdicts on the flaws of the catalogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<FlawVerdict>,
    /// How CPUs differ where they should be alike, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws_uneven: Vec<String>,
    /// Why the model that the CPUs name is made up, if it is: lists by model said nothing then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_made_up: Option<String>,
    /// What the sources said, so that a later catalogue can judge again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaw_evidence: Option<FlawEvidence>,
    /// Wall time of the run in seconds.
    #[serde(default)]
    pub elapsed_s: f64,
    /// Why the run stopped early, if it did: the rest is what was done until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Raw chunks; left out of `--json` on stdout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawSeries>,
    /// Fields of later versions, kept as they are.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

impl Record {
    /// The same without raw windows, as it is printed and kept in a history.
    #[must_use]
    pub fn without_raw(mut self) -> Self {
        self.raw.clear();
        self.samples.iter_mut().for_each(|sample| sample.raw.clear());
        self
    }

    /// Appends a raw series and returns its index for `Spread::raw`.
    pub fn push_raw(&mut self, series: RawSeries) -> usize {
        self.raw.push(series);
        self.raw.len() - 1
    }

    /// The slowest and the fastest clock of a core: of the values of the CPUs, as every table shows them; where none was timed alone, what
    /// any epoch saw.
    pub fn core_clocks(&self) -> Option<[Hertz; 2]> {
        let timed = self.cores.control.iter().filter_map(|control| control.core_hz);
        let range = |[low, high]: [Hertz; 2], one: Hertz| [Hertz(low.0.min(one.0)), Hertz(high.0.max(one.0))];
        timed.map(|one| [one; 2]).reduce(|found, [one, _]| range(found, one)).or(self.guards.core_hz)
    }
}

/// Every window that was taken for one number, by visit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawSeries {
    /// What it is: `latency 4 KiB pages, block 1 MiB, stride 64 B`.
    pub name: String,
    /// Unit of the values: `ns`, `bytes_per_s`.
    pub unit: String,
    /// One list per visit, in the order taken; rounded to single precision.
    pub visits: Vec<Vec<f32>>,
    /// For each visit the mapping it was made on; empty when every visit had a fresh one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mapping_of_visit: Vec<u32>,
}

/// The plan of the check-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Plan {
    /// Budget in seconds.
    pub budget_s: f64,
    /// The probes, in order.
    pub entries: Vec<PlanEntry>,
}

/// One probe in the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanEntry {
    /// Name of the probe.
    pub probe: String,
    /// Worst-case time planned, in seconds; 0 when dropped.
    pub planned_s: f64,
    /// `self`, `core` or `machine`: whom it disturbs.
    pub disturbs: String,
    /// What was cut to fit, and why: one line each.
    pub reduced: Vec<String>,
    /// What became of it.
    pub outcome: PlanOutcome,
    /// Time it really took, in seconds.
    pub elapsed_s: Option<f64>,
}

/// What became of a planned probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanOutcome {
    /// Not started yet, or never because the run stopped early.
    Pending,
    /// Ran to its end.
    Done,
    /// Stopped early; what it had is in the record.
    Cut(String),
    /// Not run, with the reason.
    Dropped(String),
    /// Could not measure, with the reason.
    Failed(String),
}

/// One process that measured a part of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EpochRun {
    /// When it began, UTC, RFC 3339.
    pub started_utc: String,
    /// Seed of its orders and places, made from the run's.
    pub seed: u64,
    /// From its start until its end was seen, in seconds.
    pub elapsed_s: f64,
    /// How it ended; what it had measured until then is in the record whatever that was.
    pub outcome: PlanOutcome,
    /// How much of the CPUs it got.
    #[serde(default, skip_serializing_if = "CpuShare::is_unreported")]
    pub got: CpuShare,
}
