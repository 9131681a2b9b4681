//! The documents of experiments: rows of a comparison, with what makes them believable. Within a boot in randomised turns, or across
//! reboots, where the boot is the unit.
//!
//! `experiments` fills them, `report` renders them.

use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::ComparisonRow;

/// What all documents of experiments begin with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentHead {
    /// Version of the document. It rises when a reader of the old one would misread the new one.
    pub schema: u32,
    /// What was found, in one sentence.
    pub sentence: String,
    /// What the reader has to know, one sentence each.
    pub notes: Vec<String>,
    /// Differences inside this are of no practical matter, in percent: declared before the first run.
    pub margin_percent: f64,
    /// Which sidestep.
    pub tool_version: String,
    /// When it began, RFC 3339.
    pub started_utc: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// Wall time in seconds, preparation included; left out across reboots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
}

/// What an experiment is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExperimentSubject {
    /// What is switched: `ssbd`, or `two programs`.
    pub treatment: String,
    /// What it is switched around: `probes`, or the user's command.
    pub subject: String,
    /// The baseline, such as `ssbd=off`.
    pub a: String,
    /// What it is compared with, such as `ssbd=on`.
    pub b: String,
    /// What a trial's value is made of, such as `fastest of 5 samples`.
    pub aggregate: String,
}

/// Version of the document. It rises when a reader of the old one would misread the new one.
pub const EXPERIMENT_SCHEMA: u32 = 1;

/// One experiment: two states, or two programs, in randomised turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExperimentOutcome {
    #[serde(flatten)]
    pub head: DocumentHead,
    #[serde(flatten)]
    pub about: ExperimentSubject,
    /// What was measured, most important first.
    pub rows: Vec<ExperimentRow>,
    /// What the treatment cannot touch: it has to come out equivalent.
    pub controls: Vec<ExperimentRow>,
    /// The same experiment with nothing switched, run before it.
    pub aa: AaControl,
    /// Pairs that the rows are made of.
    pub pairs: usize,
    /// What became of all pairs.
    pub pair_counts: PairCounts,
    /// Runs that failed, by state; empty if none did.
    pub failures: Vec<Failures>,
    /// What the probes between the trials saw.
    pub drift: SeenDrift,
    /// Why it ended.
    pub ended: Ended,
    /// Half-width of the interval that ends the experiment, in percent.
    pub precision_percent: f64,
    /// Every trial, the A/A ones first; left out of `--json` on stdout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawTrial>,
}

/// A row of a comparison, and the ratio that belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExperimentRow {
    /// The row as `compare` has it. Its intervals and p are widened by what the A/A control showed.
    #[serde(flatten)]
    pub row: ComparisonRow,
    /// `b` over `a`.
    pub ratio: f64,
    /// 95 % interval of `ratio`; `None` for fewer than six blocks.
    pub ratio_interval: Option<Interval>,
    /// Blocks that hold a pair of this row.
    #[serde(rename = "quads")]
    pub blocks: usize,
}

/// The same experiment with nothing switched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AaControl {
    /// What each row showed, controls included.
    pub rows: Vec<AaRow>,
    /// Blocks taken.
    #[serde(rename = "quads")]
    pub blocks: usize,
    /// Rows that differed at 5 %, uncorrected: false alarms all.
    pub alarms: usize,
    /// The most alarms, with rows as far off as these, that chance shows more often than once in a hundred.
    pub alarms_by_chance: usize,
    /// Factor by which the intervals of the rows were made wider, at least 1.
    pub widening: f64,
    /// True if it raised more alarms than chance explains: nothing here is to be believed.
    pub contaminated: bool,
}

/// What one row showed with nothing switched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AaRow {
    /// The row.
    pub name: String,
    /// With several states: the effect in place of which it was looked for; else left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// Its change in percent: it should be nothing.
    pub change_percent: f64,
    /// 95 % interval of the change; `None` for fewer than six blocks.
    pub interval: Option<Interval>,
    /// Two-sided p of such a change from nothing.
    pub p: f64,
}

/// What became of the pairs after the A/A control.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairCounts {
    /// Pairs taken, in whole blocks.
    pub taken: usize,
    /// Pairs that stayed.
    pub kept: usize,
    /// Pairs left out as a run of them failed.
    pub failed: usize,
    /// Pairs left out by each guard; a pair may stand at several.
    pub dropped: Vec<DroppedPairs>,
    /// Guards that moved in some states more than in others, and so dropped nothing.
    #[serde(default)]
    pub lopsided: Vec<LopsidedGuard>,
    /// Trials thrown away because their block was not finished.
    pub unfinished_trials: usize,
}

/// Pairs left out by one guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DroppedPairs {
    /// What moved: `steal`, `drift of the frequency`, ...
    pub guard: String,
    /// How many.
    pub pairs: usize,
}

/// A guard that moves with the states: to leave out what it saw would hide what a state does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LopsidedGuard {
    /// What moved.
    pub guard: String,
    /// In how many trials of each state, the baseline first.
    pub trials: Vec<usize>,
}

/// Runs that failed in one state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failures {
    /// `a` or `b`; with several toggles one letter each.
    pub state: String,
    /// How many failed.
    pub failed: usize,
    /// Of how many.
    pub of: usize,
    /// How the first of them ended.
    pub example: String,
}

/// What the probes between the trials saw of the machine itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeenDrift {
    /// Correlation of each reading of the arithmetic probe with the next; far from zero where the machine drifts.
    pub lag1: Option<f64>,
    /// Changes of its level, in percent.
    pub steps_percent: Vec<f64>,
}

/// Why an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The interval is narrow enough.
    Precise,
    /// The time is up.
    BudgetSpent,
    /// All pairs asked for are taken.
    PairsTaken,
    /// Runs fail in one state or in both.
    Failing,
    /// A signal ended it; whole blocks count.
    Interrupted,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawTrial {
    /// True for a trial of the A/A control.
    #[serde(rename = "twin")]
    pub aa: bool,
    /// `a` or `b`, with several toggles one letter each: what it stands for. In the A/A control nothing is switched between the two.
    pub state: String,
    /// One value per row, then per control; `None` where it failed.
    pub values: Vec<Option<f64>>,
    /// One reading per guard; `None` where there was none.
    pub guards: Vec<Option<f64>>,
}

/// Version of the document. It rises when a reader of the old one would misread the new one.
pub const REBOOTS_SCHEMA: u32 = 1;

/// What the boots measured so far amount to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RebootOutcome {
    #[serde(flatten)]
    pub head: DocumentHead,
    /// `running`, `finished` or `abandoned`.
    pub phase: String,
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
