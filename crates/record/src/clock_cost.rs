//! The document of `sidestep clock cost`: what each way to read the time costs, alone and by threads.

use machine::CpuId;
use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::{KernelClocks, RawSeries, Spread};

/// Version of the document.
pub const CLOCK_COST_SCHEMA: u32 = 1;

/// What `sidestep clock cost` found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockCost {
    /// Version of the document, `CLOCK_COST_SCHEMA` when written by this version.
    pub schema: u32,
    /// Whether another run would give the same.
    pub verdict: CostVerdict,
    /// Why, one sentence each, most important first.
    pub because: Vec<String>,
    /// What each way to read the time costs.
    pub reads: Vec<ClockRead>,
    /// Ways that do not work here.
    pub failed: Vec<FailedRead>,
    /// The control loops beside the reads; `None` if nothing was measured.
    pub control: Option<CostControl>,
    /// Cost by number of threads.
    pub threads: Vec<ThreadCost>,
    /// What threads read in one released round.
    pub rounds: Vec<RoundsSeen>,
    /// What others measured on other machines, to set beside.
    pub published: Vec<PublishedCost>,
    /// What the kernel says of its clocks.
    pub kernel: KernelClocks,
    /// What was not measured, and why.
    pub without: Vec<String>,
    /// Ticks of the counter per second; `None` if nothing was measured.
    pub counter_hz: Option<f64>,
    /// The same as firmware states it (arm64: CNTFRQ_EL0), 0 if it left that out; `None` where nothing states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_stated_hz: Option<f64>,
    /// Wall time of the measurement in seconds.
    pub elapsed_s: f64,
    /// Batches that count, where they were to be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawSeries>,
}

/// Whether costs would come out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CostVerdict {
    /// Another run agrees within 2 %, in cycles of the core.
    Repeatable,
    /// Some costs may differ by more; each says why.
    PartlyRepeatable,
    /// The core was hardly ever ours alone: no cost is vouched for.
    Refused,
    /// Nothing was measured.
    #[default]
    CannotTell,
}

/// The control loops beside the reads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostControl {
    /// The CPU that the reads were measured on.
    pub cpu: CpuId,
    /// Nanoseconds per dependent multiply beside the batches that count.
    pub multiply_ns: f64,
    /// Nanoseconds per addition of the port loop at the best level.
    pub port_ns: f64,
    /// The core's frequency in hertz; `None` if the cycles of a multiply are unknown.
    pub core_hz: Option<f64>,
    /// Additions in a cycle at the best level: the whole core's, if it was ever ours alone.
    pub adds_per_cycle: Option<f64>,
    /// Share of the readings that pass for the best level.
    pub near_share: f64,
    /// Share of those that lie on a plateau with the best; below a half it is unknown whether the whole core was seen.
    pub plateau_share: f64,
    /// Readings.
    pub readings: usize,
}

/// A way that does not work here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedRead {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What a read costs in so many threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadCost {
    /// The read.
    pub read: String,
    /// Threads at a time, each pinned.
    pub threads: usize,
    /// Nanoseconds per read in one of them, beside the others.
    pub ns: f64,
    /// Times as much as in one thread, the frequency taken out.
    pub ratio: f64,
    /// Its 95 % interval; `None` for one thread, or too few rounds.
    pub interval: Option<Interval>,
    /// The port loop's share of the core against that in one thread: below 1 where threads share a core.
    pub core_share: f64,
    /// Share of the batches beside which as many other CPUs were at work as could be.
    pub overlap: f64,
    /// Rounds behind it.
    pub rounds: usize,
    /// Whether it stays flat.
    pub verdict: ScalingVerdict,
}

/// Whether a cost depends on the number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ScalingVerdict {
    /// It is that of one thread, within 5 %.
    Flat,
    /// It is more.
    Grows,
    /// The threads hardly ran at the same time, shared a core, or the interval is too wide.
    #[default]
    CannotTell,
}

/// What threads read between the release of a round and the arrival of all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsSeen {
    /// The read.
    pub read: String,
    /// Threads, each pinned.
    pub threads: usize,
    /// Rounds.
    pub rounds: usize,
    /// Rounds so short that all threads must have been running.
    pub overlapping: usize,
    /// Largest difference of the values of one round, in nanoseconds, among rounds that overlap, else among all.
    pub largest_ns: f64,
    /// Time from release to arrival in that round by the same clock: no difference may be larger.
    pub bound_ns: f64,
    /// Median difference, among the same rounds.
    pub typical_ns: f64,
    /// Values before the release or after the arrival: time went backwards.
    pub outside: u64,
    /// Whether time is one for all threads.
    pub verdict: RoundsVerdict,
}

/// Whether what threads read is in the order in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RoundsVerdict {
    /// Every value lay between release and arrival.
    InOrder,
    /// One did not.
    Backwards,
    /// Too few rounds in which the threads ran at the same time.
    #[default]
    CannotTell,
}

/// What somebody else measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedCost {
    /// What was read, and how.
    pub name: String,
    /// Cycles per read.
    pub cycles: f64,
    /// Whose figure it is.
    pub source: String,
}

/// What one read of one time source costs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockRead {
    /// `rdtsc`, `rdtscp`, `clock_gettime(CLOCK_MONOTONIC)`, `clock_gettime system call`, ...
    pub name: String,
    /// The CPU it was measured on.
    pub cpu: CpuId,
    /// Nanoseconds per read.
    pub ns: f64,
    /// Ticks per read of the counter behind the clock (the time-stamp counter, on arm64 CNTVCT_EL0); `None` without one.
    #[serde(alias = "tsc_cycles")]
    pub counter_cycles: Option<f64>,
    /// Cycles of the core per read; `None` if the core's clock is unknown.
    pub core_cycles: Option<f64>,
    /// 95 % interval of `core_cycles`, batch by batch with the frequency of its moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_cycles_interval: Option<Interval>,
    /// True if no later instruction can be seen before it and no earlier load after it.
    pub ordered: bool,
    /// Steps in which it tells the time, in nanoseconds; `None` if it tells none, or nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<f64>,
    /// The price while others used the core too, where that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowRead>,
    /// Why another run may differ by more than 2 %; `None` if it should not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Spread of `ns`.
    #[serde(flatten)]
    pub spread: Spread,
}

/// What a read costs beside a core that was shared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowRead {
    /// Nanoseconds per read.
    pub ns: f64,
    /// Cycles of the core per read; `None` if the core's clock is unknown.
    pub core_cycles: Option<f64>,
    /// Batches behind it.
    pub windows: usize,
}
