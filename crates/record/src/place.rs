//! The document of a placement: which threads, where they are put, what that should gain, and what it was measured to.

use serde::{Deserialize, Serialize};
use stats::{Interval, Verdict};

use crate::{AaControl, Better, DocumentHead, Ended, Failures, PairCounts, RawTrial, Sharing};

/// Version of the document. It rises when a reader of the old one would misread the new one.
pub const PLACE_SCHEMA: u32 = 1;

/// A placement that was looked for and tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceOutcome {
    #[serde(flatten)]
    pub head: DocumentHead,
    /// The command, or the process.
    pub subject: String,
    /// The CPUs that its threads may use, as a list.
    pub cpus: String,
    /// The arm that is recommended; `None`: keep the kernel's placement.
    pub recommended: Option<String>,
    /// Why its threads could not be determined by what was seen of them: too little, or they were gone too soon. Nothing was tried then, which says
    /// nothing of whether placement matters.
    #[serde(default)]
    pub unseen: Option<String>,
    /// Threads that are placed, in order of creation.
    pub threads: Vec<PlacedThread>,
    /// Threads that use too little CPU time to matter: they are left free.
    pub idle_threads: usize,
    /// Threads that had or chose CPUs of their own: they are left alone.
    pub apart_threads: usize,
    /// How the placement was found; `None` where nothing was to be decided.
    pub decision: Option<PlaceDecision>,
    /// What predicted the change of each arm; `None` where nothing did.
    #[serde(default)]
    pub predicted_by: Option<String>,
    /// Why nothing is predicted.
    #[serde(default)]
    pub unpredicted: Option<String>,
    /// The row that decides: `wall time`, or the user's metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is the good one.
    pub better: Better,
    /// The kernel's own placement first, then what was tried against it.
    pub arms: Vec<PlaceArm>,
    /// The same with nothing changed: what the arms do in the mirrored half of each block against the first.
    pub aa: AaControl,
    /// What became of the passes, each of which runs every arm once.
    pub pair_counts: PairCounts,
    /// Runs that failed, by state.
    pub failures: Vec<Failures>,
    /// Why it ended; `None` where nothing was run but the profile.
    pub ended: Option<Ended>,
    /// Who shares what; `None` where nobody looked.
    pub sharing: Option<Sharing>,
    /// Every trial; left out of `--json` on stdout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawTrial>,
}

/// One thread, known from run to run by its process, its name and its place among threads of that name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedThread {
    /// Its process, counted from 0 by start.
    pub process: usize,
    /// Its name.
    pub name: String,
    /// Its place among the threads of that name in its process, counted from 0 by start.
    pub nth: usize,
    /// Its number in the profile, by which `sharing` knows it; `None` in older documents.
    #[serde(default)]
    pub tid: Option<u32>,
    /// Its place among all threads of its process, idle ones included, counted from 0 by start.
    pub order: usize,
    /// CPU time over wall time of the profile.
    pub cpu_share: f64,
    /// Where the best placement puts it, as a list.
    pub cpus: String,
}

/// How a placement was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceDecision {
    /// What the threads were known by: `sharing and CPU time`, `CPU time only`.
    pub learnt_by: String,
    /// What can be shared, from the smallest units to the largest.
    pub levels: Vec<PlaceLevel>,
    /// Value of the best placement, in speeds of one thread.
    pub value: f64,
    /// Placements that were tried; 0 in older documents.
    #[serde(default)]
    pub tried: u64,
    /// True if those are all that there are, so that none is better.
    #[serde(default)]
    pub all_tried: bool,
    /// Mean value of placements by chance, which the kernel's are taken for.
    pub chance_value: f64,
    /// Sum of the threads' CPU shares: what values are counted against.
    pub busy: f64,
    /// Where the numbers behind the value are from, and what it leaves out, one sentence each.
    #[serde(default)]
    pub terms: Vec<String>,
}

/// Units of one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceLevel {
    /// `CPU`, `core`, `L2`, `last-level cache`, `node`.
    pub name: String,
    /// How many there are.
    pub units: usize,
    /// How many threads one holds.
    pub capacity: usize,
    /// Share of what far apart costs that this nearness saves.
    pub benefit: f64,
    /// Where that number is from.
    pub source: String,
}

/// One way to place the threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceArm {
    /// `os`, `best`, `spread`, `pack`, `os again`.
    pub name: String,
    /// What it does, in words.
    pub what: String,
    /// What it is of the others, where two are the same placement.
    pub same_as: Option<String>,
    /// CPUs of each thread, in the order of `threads`; empty for the kernel's own placement.
    pub cpus: Vec<String>,
    /// Change of the metric against `os` that is predicted, in percent; `None` without a prediction.
    pub predicted_percent: Option<f64>,
    /// Over what is not known better: handovers within their intervals, how much of a turn is work, what runs of the kernel differ by.
    #[serde(default)]
    pub predicted_interval: Option<Interval>,
    /// Median of the metric; `None` where it was not run.
    pub value: Option<f64>,
    /// 95 % interval of that median.
    pub interval: Option<Interval>,
    /// Change against `os` that was measured, in percent; `None` for `os` itself.
    pub change_percent: Option<f64>,
    /// Interval of the change, 95 % for all arms at once (Bonferroni): the arm that is picked is the one that looks best.
    pub change_interval: Option<Interval>,
    /// Probability of such a change from nothing.
    pub p: Option<f64>,
    /// The same, adjusted for the number of arms (Holm).
    pub q: Option<f64>,
    /// What it amounts to, with the margin; better is `faster` whatever the metric is.
    pub verdict: Verdict,
    /// Runs.
    pub runs: usize,
}

impl PlaceArm {
    /// An arm that was not tried and of which nothing is predicted.
    pub fn untried(name: &str, what: &str) -> Self {
        Self {
            name: name.to_owned(),
            what: what.to_owned(),
            same_as: None,
            cpus: Vec::new(),
            predicted_percent: None,
            predicted_interval: None,
            value: None,
            interval: None,
            change_percent: None,
            change_interval: None,
            p: None,
            q: None,
            verdict: Verdict::Inconclusive,
            runs: 0,
        }
    }
}
