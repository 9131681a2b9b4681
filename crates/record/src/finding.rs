//! One finding: a sentence, its evidence, its mechanism, what to do.

use serde::{Deserialize, Serialize};

/// How much a finding matters; the order is the order of display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something costs performance or makes numbers wrong.
    Warning,
    /// The data cannot tell, and that matters.
    Inconclusive,
    /// Worth knowing.
    Notice,
    /// As expected; said because it was checked.
    Good,
}

machine::named! {
    /// What a finding is about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Area {
        /// The run itself: it ended early.
        Run = "run",
        /// Flaws of the CPU and what stands against them.
        Flaws = "flaws",
        /// Caches, memory, page walks and sockets.
        Memory = "memory",
        /// Cores, their siblings, and what they compute.
        Cores = "cores",
        /// Clocks and counters.
        Clocks = "clocks",
        /// What else used the machine meanwhile.
        Noise = "noise",
    }
}

/// Something to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// What it is for: `Measure huge pages on a program`.
    pub purpose: String,
    /// The complete command; `RECORD` stands for the file of the record.
    pub command: String,
}

/// A finding as `design.md` shapes it; every number in it carries an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable name: `effective-l3`, `hidden-siblings`.
    pub id: String,
    /// What it is about; `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<Area>,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub text: String,
    /// Measured numbers with intervals, one line each.
    pub evidence: Vec<String>,
    /// Why it happens, as far as known; says when it is an inference.
    pub mechanism: Option<String>,
    /// What a model or the design of the part predicts, beside the measurement.
    pub prediction: Option<String>,
    /// What to do: a command, or why nothing can be done.
    pub remedy: Option<String>,
    /// Commands that settle it, use it or report it, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Where the method or the expected value comes from.
    pub source: Option<String>,
}
