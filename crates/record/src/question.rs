//! What the check-up asks of a machine: samples of its contrasts and levels, and the answers.

use machine::{Bytes, CpuId};
use serde::{Deserialize, Serialize};

/// One repetition of what varies between runs: a fresh mapping, a visit to a pair of CPUs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionSample {
    /// What was asked: `l1`, `l2`, `memory`, `memory-base`, `blocks`, `huge-pages`, `cpus-core`, `cpus-memory`.
    pub question: String,
    /// CPU that measured; of a pair the one that is compared.
    pub cpu: CpuId,
    /// The CPU that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<CpuId>,
    /// Size of the block that was walked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<Bytes>,
    /// Size of its pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<Bytes>,
    /// Process that measured, counted from 1.
    #[serde(default)]
    pub epoch: usize,
    /// Unit of the values: `core cycles`, `ns`, `ratio`.
    pub unit: String,
    /// Median of all windows.
    pub value: f64,
    /// Median of the windows in which the control loops had the core alone; absent where there were few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<f64>,
    /// Median of the windows in which they shared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<f64>,
    /// Share of windows that had the core alone, 0 to 1.
    pub alone_share: f64,
    /// Windows that count, of a contrast pairs of windows.
    pub windows: usize,
    /// Time that it took, in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Windows as they were, at most a few hundred: value, of a contrast its logarithm; and the time of the port loop beside it over that
    /// of a multiply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<[f32; 2]>,
}

/// The samples of the questions that have some: by the name of the question.
const SAMPLES: [(&str, &[&str]); 6] = [
    ("L1", &["l1"]),
    ("L2", &["l2"]),
    ("L3", &["blocks"]),
    ("memory", &["memory", "memory-base"]),
    ("huge pages", &["huge-pages"]),
    ("CPUs", &["cpus-core", "cpus-memory"]),
];

impl QuestionSample {
    /// Whether it is of this question, named as its answer is.
    pub fn is_of(&self, question: &str) -> bool {
        let of = SAMPLES.iter().find(|(name, _)| *name == question);
        of.is_some_and(|(_, samples)| samples.contains(&self.question.as_str()))
    }
}

machine::named! {
    /// What became of a question.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum AnswerVerdict {
        /// It has an answer, and that is as one would have it.
        Ok = "OK",
        /// It has an answer that deserves a look.
        Warn = "WARN",
        /// Others took so much that small changes cannot be seen.
        Noisy = "NOISY",
        /// The measurement does not decide it.
        Undetermined = "undetermined",
        /// It does not arise on this machine.
        NotApplicable = "not applicable",
    }
}

/// What a check-up says to one of its questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionAnswer {
    /// Name of the question, as in docs/check-up.md.
    pub question: String,
    /// What became of it.
    pub verdict: AnswerVerdict,
    /// The answer in words.
    pub sentence: String,
    /// The number behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Lower end of its interval, within which 95 % of further runs are expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Unit of the number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Time that its samples and probes took, in seconds; probes of several questions count for each.
    #[serde(default)]
    pub spent_s: f64,
    /// Why it is not answered, and what would answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
