//! The document of a comparison: rows, averages, and what else differs between the configurations.
//!
//! `experiments` fills it, `report` renders it; the same rows serve comparisons of records and interleaved experiments.

use serde::{Deserialize, Serialize};
use stats::{Interval, Knowledge, RowClass, Verdict};

/// Version of the document. It rises when a reader of the old one would misread the new one.
pub const COMPARISON_SCHEMA: u32 = 1;

/// Two or more configurations side by side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonTable {
    /// Version of the document, `COMPARISON_SCHEMA` when written by this version.
    pub schema: u32,
    /// The configurations in the order given.
    pub configurations: Vec<ConfigurationSummary>,
    /// Index of the configuration that all others are compared with.
    pub baseline: usize,
    /// What else differs between them.
    pub differences: Vec<FactDifference>,
    /// What the reader has to know before the numbers, one sentence each.
    pub cautions: Vec<String>,
    /// Whether tests that cannot be affected stayed where they were.
    pub drift: Drift,
    /// Earlier runs of the machine that the spread between runs was determined from; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_runs: Option<EarlierRuns>,
    /// What all classes of memory did together, per candidate: the first thing to know. Of records only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<ComparisonMemory>,
    /// What the rows of a class did together, before any row: one cause moves them all. Of records only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ComparisonClass>,
    /// One row per test and candidate, grouped, candidates in the order given.
    pub rows: Vec<ComparisonRow>,
    /// Averages per candidate: over all rows, without groups, per group.
    pub averages: Vec<ComparisonAverage>,
    /// Tests that not all configurations hold; never imputed.
    pub unmatched: Vec<UnmatchedTest>,
    /// Tests of which runs failed, one line each: nothing is claimed of them, and no gate passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// One configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigurationSummary {
    /// What it is called in the table; no two are called alike.
    pub name: String,
    /// `record`, `csv`, `hyperfine` or `phoronix`.
    pub kind: String,
    /// Runs that it was made from.
    pub runs: usize,
    /// When the first of its runs began, RFC 3339, if that is known.
    pub started_utc: Option<String>,
}

/// Earlier runs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierRuns {
    /// How many.
    pub runs: usize,
    /// True if they are from the history that `sidestep run` keeps, false if they were named (`--history`).
    pub own_history: bool,
}

/// One fact about platform or run that is not the same in all configurations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactDifference {
    /// `kernel`, `command line`, `microcode`, `mitigation: spectre_v2`, ...
    pub fact: String,
    /// The value in each configuration, in their order; `None` where it is not known.
    pub values: Vec<Option<String>>,
}

/// Which direction is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Rates and scores.
    Higher,
    /// Times and costs.
    Lower,
}

impl Better {
    /// The logarithm of a cost, from that of a value: larger is slower, whatever the unit.
    pub const fn cost(self, log: f64) -> f64 {
        match self {
            Self::Higher => -log,
            Self::Lower => log,
        }
    }
}

/// One test of one candidate against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonRow {
    /// What was tested.
    pub name: String,
    /// `memory`, `cores`, ...; averages are taken by group.
    pub group: String,
    /// Unit of `a` and `b`.
    pub unit: String,
    /// Which direction is the good one.
    pub better: Better,
    /// Name of the configuration that `b` belongs to.
    pub candidate: String,
    /// Value of the baseline.
    pub a: f64,
    /// Value of the candidate.
    pub b: f64,
    /// 95 % interval of `a`; `None` for a single value without one.
    pub a_interval: Option<Interval>,
    /// 95 % interval of `b`; `None` for a single value without one.
    pub b_interval: Option<Interval>,
    /// `b` against `a` with its sign, in percent of `a`: of replicates their typical shift, which need not be that of the
    /// two values shown.
    pub change_percent: f64,
    /// 95 % interval of `change_percent`; `None` if either side carries none.
    pub interval: Option<Interval>,
    /// |a - b| over their mean, in percent, 0 to 200.
    pub symmetric_percent: f64,
    /// What it amounts to; without an interval always `inconclusive`.
    pub verdict: Verdict,
    /// Differences inside this are of no practical matter, in percent: the declared margin, or what the controls moved.
    pub margin_percent: f64,
    /// Probability of such a difference from nothing; `None` without an interval.
    pub p: Option<f64>,
    /// The same, adjusted for the number of rows (Benjamini and Hochberg); `None` without an interval.
    pub q: Option<f64>,
    /// About how many further runs of each configuration an inconclusive row wants; `None` if that cannot be said.
    pub further_runs: Option<usize>,
    /// Values behind `a` and `b`: runs or replicates.
    pub samples: [usize; 2],
    /// True if values of `a` and `b` were taken in pairs.
    pub paired: bool,
    /// True if what is compared cannot touch this test: a control.
    pub control: bool,
    /// Where the spread between runs is from, which a verdict on runs needs; `none` where the row was not judged by it.
    #[serde(default)]
    pub knowledge: Knowledge,
}

/// What the rows of one class of one candidate share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonClass {
    /// The class.
    pub class: RowClass,
    /// Name of the candidate.
    pub candidate: String,
    /// Names of its rows.
    pub rows: Vec<String>,
    /// Those that moved the same way as the class.
    pub moved_along: usize,
    /// Change of the cost that all rows share, in percent: positive is slower.
    pub change_percent: f64,
    /// Its 95 % interval, from the spread between runs.
    pub interval: Interval,
    /// Probability of such a change from nothing, among all classes.
    pub q: f64,
    /// What it amounts to.
    pub verdict: Verdict,
    /// Where the spread between runs is from.
    pub knowledge: Knowledge,
}

/// What all classes of memory of one candidate share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonMemory {
    /// Name of the candidate.
    pub candidate: String,
    /// How many rows these classes have.
    pub rows: usize,
    /// Change of the cost that they share, in percent: positive is slower.
    pub change_percent: f64,
    /// Its 95 % interval, from the spread between runs.
    pub interval: Interval,
    /// Probability of such a change from nothing, among this and all classes.
    pub q: f64,
    /// What it amounts to.
    pub verdict: Verdict,
    /// Where the spread between runs is from.
    pub knowledge: Knowledge,
}

/// An average over rows of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonAverage {
    /// `all`, `without:NAME` or the name of a group.
    pub group: String,
    /// Name of the candidate.
    pub candidate: String,
    /// Rows averaged.
    pub rows: usize,
    /// Mean of the symmetric differences in percent.
    pub symmetric_percent: f64,
    /// What that mean would be if nothing differed, from the widths of the intervals (A/A floor), in percent; `None`
    /// where a row carries no interval.
    pub floor_percent: Option<f64>,
    /// Geometric mean of the costs in percent with its sign: positive is slower.
    pub geometric_percent: f64,
    /// 95 % interval of `geometric_percent`: of records between runs, of imported results over the tests (BCa); `None` for too few
    /// rows, or where the spread of one is not known.
    pub geometric_interval: Option<Interval>,
}

/// A test that not every configuration holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnmatchedTest {
    /// What was tested.
    pub name: String,
    /// Its group.
    pub group: String,
    /// The configurations that hold it.
    pub present_in: Vec<String>,
}

/// What the controls say: tests that no workaround of memory can touch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// Names of the controls that were compared.
    pub controls: Vec<String>,
    /// Names of those that moved by more than the margin.
    pub moved: Vec<String>,
    /// The largest symmetric difference of a control that moved, in percent; smaller differences of other tests may be
    /// drift.
    pub moved_percent: f64,
    /// The largest symmetric difference of a control that stayed, in percent.
    pub stayed_percent: f64,
    /// True if a control moved by more than its own spread between runs: then nothing is claimed.
    #[serde(default)]
    pub doubtful: bool,
}
