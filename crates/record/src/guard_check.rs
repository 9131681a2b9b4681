//! What `sidestep guard` keeps and finds: a baseline of check-ups, and a check against it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{FactDifference, HistoryEntry};

/// Version of baseline and outcome.
pub const GUARD_SCHEMA: u32 = 1;

/// The check-ups that a check is judged by.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GuardBaseline {
    /// Version of the document.
    pub schema: u32,
    /// The runs, in the order taken.
    pub runs: Vec<HistoryEntry>,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GuardVerdict {
    /// Facts are the same, and numbers within the limits.
    AsBefore,
    /// A fact differs, or numbers are beyond the limits in two checks.
    Changed,
    /// The machine was busy, or the baseline does not allow a judgement.
    #[default]
    CannotTell,
}

/// Numbers that are beyond their limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardChange {
    /// The row; `None` for its whole class.
    pub row: Option<String>,
    /// The class.
    pub class: String,
    /// How much it costs now over the baseline, in percent: slower is above zero.
    pub slower_percent: f64,
    /// A change had to be larger than this, in percent.
    pub limit_percent: f64,
    /// Set if single checks are within their limits, and the days since the baseline together are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<GuardTrend>,
}

/// Days that together show a gradual change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardTrend {
    /// Days with a check since the change began.
    pub days: usize,
    /// Those on which the class was beyond every run of the baseline.
    pub days_beyond: usize,
    /// Median of the slopes between all days, in percent for a day (Theil and Sen).
    pub percent_per_day: Option<f64>,
}

/// What a guard remembers of a check.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardPast {
    /// When it began, UTC.
    pub checked_utc: String,
    /// Days of the budget of alarms that are left after it.
    pub saved_days: f64,
    /// By class the logarithm of its cost over the baseline; classes that were judged.
    pub costs: BTreeMap<String, f64>,
}

/// What a guard remembers since its baseline.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardLedger {
    /// What the last check found.
    pub last: GuardOutcome,
    /// The checks, oldest first.
    pub past: Vec<GuardPast>,
}

/// What the baseline allows to show of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardClass {
    /// The class.
    pub class: String,
    /// Its rows.
    pub rows: usize,
    /// The smallest change of the whole class that a check can show, in percent; `None` where runs differ so much that it shows none.
    pub smallest_percent: Option<f64>,
    /// What the class costs in this check over the baseline, in percent; `None` where it was not judged.
    #[serde(default)]
    pub now_percent: Option<f64>,
}

/// An experiment that could prove a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardToggle {
    /// The fact that differs.
    pub fact: String,
    /// The command.
    pub command: String,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GuardOutcome {
    /// Version of the document.
    pub schema: u32,
    /// The answer in a word.
    pub verdict: GuardVerdict,
    /// The answer in a sentence.
    pub sentence: String,
    /// When the check began, UTC.
    pub checked_utc: String,
    /// When the baseline began, UTC.
    pub baseline_utc: String,
    /// Runs of the baseline.
    pub baseline_runs: usize,
    /// Runs of it during which the machine was busy.
    pub baseline_busy_runs: usize,
    /// Facts that differ from the last run of the baseline, the likeliest cause first.
    pub facts: Vec<FactDifference>,
    /// Numbers beyond their limits in both checks, classes first.
    pub changes: Vec<GuardChange>,
    /// Experiments that could prove a cause.
    pub proofs: Vec<GuardToggle>,
    /// What made the numbers of this check doubtful, one line each.
    pub doubts: Vec<String>,
    /// What else to know, one sentence each.
    pub notes: Vec<String>,
    /// What the baseline allows to show.
    pub classes: Vec<GuardClass>,
    /// Probability of a false alarm in this check, by design: what of the year's budget it spends.
    pub alarms_per_check: f64,
    /// Check-ups made: two where the first found something.
    pub check_ups: usize,
}
