//! The document of an experiment across reboots: the boot is the unit, and what is not known is said.
//!
//! `experiments` fills it, `report` renders it.

use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::ComparisonRow;

/// Version of the document. It rises when a reader of the old one would misread the new one.
pub const REBOOTS_SCHEMA: u32 = 1;

/// What the boots measured so far amount to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RebootOutcome {
    /// Version of the document, `REBOOTS_SCHEMA` when written by this version.
    pub schema: u32,
    /// `running`, `finished` or `abandoned`.
    pub phase: String,
    /// What was found, in one sentence.
    pub sentence: String,
    /// The baseline, such as `mitigations=auto`.
    pub a: String,
    /// What it is compared with.
    pub b: String,
    /// `probes`, or the user's command.
    pub subject: String,
    /// What was measured, most important first.
    pub rows: Vec<BootRow>,
    /// What the arms should not touch.
    pub controls: Vec<BootRow>,
    /// Boots that count, by arm.
    pub boots_counted: [usize; 2],
    /// Boots planned for each arm.
    pub boots_planned: usize,
    /// Trials in each boot.
    pub trials_per_boot: usize,
    /// All boots that were seen, in order.
    pub boots: Vec<BootSummary>,
    /// Facts that come with the arm.
    pub differs_with_arm: Vec<ArmFact>,
    /// What the reader has to know before the numbers, one sentence each.
    pub cautions: Vec<String>,
    /// What the reader has to know of single rows, one sentence each.
    pub notes: Vec<String>,
    /// Differences inside this are of no practical matter, in percent: declared before the first boot.
    pub margin_percent: f64,
    /// Which sidestep set it up.
    pub tool_version: String,
    /// When that was, RFC 3339.
    pub started_utc: String,
    /// Seed of the order of boots.
    pub seed: u64,
}

/// A row of a comparison whose values are boots, and how far trials and boots lie apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootRow {
    /// The row as `compare` has it; its samples are boots.
    #[serde(flatten)]
    pub row: ComparisonRow,
    /// `b` over `a`.
    pub ratio: f64,
    /// 95 % interval of `ratio`; `None` for fewer boots than 4 and 4, or 3 and 5.
    pub ratio_interval: Option<Interval>,
    /// Standard deviation of a trial within its boot, in percent; `None` for single trials.
    pub within_percent: Option<f64>,
    /// Standard deviation of the boots themselves, in percent, with the share of the trials taken off; 0 where the
    /// boots lie no further apart than their trials explain; `None` without two boots of one arm.
    pub between_percent: Option<f64>,
}

/// One boot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootSummary {
    /// Its place in the order, from 1.
    pub place: usize,
    /// The arm that was due: `a` or `b`.
    pub arm: String,
    /// When it was seen, RFC 3339.
    pub seen_utc: String,
    /// `counted`, `failed`, `cut short`, `not of the arm` or `being measured`.
    pub fate: String,
    /// Why it does not count, or what is odd about it; empty if nothing.
    pub remark: String,
    /// Trials taken.
    pub trials: usize,
    /// Trials left out as something beside them moved.
    pub trials_dropped: usize,
    /// Its age when it was seen, in seconds.
    pub uptime_s: Option<f64>,
    /// Its value of the first row; `None` without a good trial.
    pub value: Option<f64>,
}

/// A fact that comes with the arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmFact {
    /// `clock source`, `mitigation spectre_v2`, ...
    pub fact: String,
    /// What all boots of A say.
    pub a: String,
    /// What all boots of B say.
    pub b: String,
}
