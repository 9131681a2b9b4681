//! The document of a factorial experiment: several toggles in all combinations, their effects, and their interactions.
//!
//! `experiments` fills it, `report` renders it. What it shares with an experiment of one toggle it says in the same words.

use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::experiment::{AaTwin, Ended, ExperimentRow, Failures, PairCounts, RawTrial, SeenDrift};

/// Version of the document. It rises when a reader of the old one would misread the new one.
pub const FACTORIAL_SCHEMA: u32 = 1;

/// One factorial experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactorialOutcome {
    /// Version of the document, `FACTORIAL_SCHEMA` when written by this version.
    pub schema: u32,
    /// What was found: one sentence per main effect, then the interactions, then controls and A/A.
    pub sentences: Vec<String>,
    /// What is switched, in the order of the letters of a state.
    pub toggles: Vec<FactorialToggle>,
    /// What it is switched around: `probes`, or the user's command.
    pub subject: String,
    /// All combinations, the first toggle changing fastest.
    pub cells: Vec<FactorialCell>,
    /// Every effect on every row: main effects, then interactions.
    pub rows: Vec<FactorialRow>,
    /// What no toggle can touch: it has to come out equivalent.
    pub controls: Vec<FactorialRow>,
    /// What must be nothing: each effect in a pass less the same in its mirror image. `quads` are blocks here.
    pub aa: AaTwin,
    /// Passes through all combinations that the rows are made of.
    pub passes: usize,
    /// What became of all passes: read pass for pair.
    pub pass_counts: PairCounts,
    /// Runs that failed, by state; empty if none did.
    pub failures: Vec<Failures>,
    /// What the probes between the trials saw.
    pub drift: SeenDrift,
    /// Why it ended.
    pub ended: Ended,
    /// Differences inside this are of no practical matter, in percent: declared before the first trial.
    pub margin_percent: f64,
    /// Half-width of the intervals that ends the experiment, in percent.
    pub precision_percent: f64,
    /// What a trial's value is made of, such as `each run once`.
    pub aggregate: String,
    /// What the reader has to know, one sentence each.
    pub notes: Vec<String>,
    /// Which sidestep.
    pub tool_version: String,
    /// When it began, RFC 3339.
    pub started_utc: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// Wall time in seconds, preparation included.
    pub elapsed_s: f64,
    /// Every trial in the order taken; left out of `--json` on stdout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawTrial>,
}

/// One toggle of a factorial experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactorialToggle {
    /// The toggle.
    pub name: String,
    /// Its value in state A.
    pub a: String,
    /// Its value in state B.
    pub b: String,
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactorialCell {
    /// One letter per toggle: `ab` has the first at A, the second at B.
    pub state: String,
    /// The same in words: `thp=on, timer-slack=1ms`.
    pub name: String,
    /// What was measured in it, in the order of the rows.
    pub values: Vec<CellValue>,
}

/// What one combination showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellValue {
    /// The row.
    pub name: String,
    /// Unit of `median` and its interval.
    pub unit: String,
    /// Median of all trials of the passes that stayed.
    pub median: f64,
    /// 95 % interval of the median; `None` for too few trials.
    pub interval: Option<Interval>,
    /// Trials.
    pub samples: usize,
    /// Against the first combination, in percent, by blocks; `None` for that itself.
    pub change_percent: Option<f64>,
    /// 95 % interval of the change; `None` for fewer than six blocks.
    pub change_interval: Option<Interval>,
}

/// One effect on one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactorialRow {
    /// `thp` for a main effect, `thp x timer-slack` for an interaction.
    pub effect: String,
    /// The toggles concerned.
    pub toggles: Vec<String>,
    /// True if one of the sentences tells it.
    pub told: bool,
    /// The row. `b` is the geometric mean over the combinations in which all toggles of the effect are at B, `a` what it
    /// would be without the effect: for an interaction, if the effects of fewer toggles just multiplied.
    #[serde(flatten)]
    pub row: ExperimentRow,
}
