//! The document of `sidestep clock check`: how far the counters of CPUs agree, and what the kernel thinks of its clocks.

use std::collections::BTreeMap;

use machine::CpuId;
use serde::{Deserialize, Serialize};

/// Version of the document.
pub const CLOCK_CHECK_SCHEMA: u32 = 1;

/// What `sidestep clock check` found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockCheck {
    /// Version of the document, `CLOCK_CHECK_SCHEMA` when written by this version.
    pub schema: u32,
    /// Whether time is safe here.
    pub verdict: ClockVerdict,
    /// Why, one sentence each, most important first.
    pub because: Vec<String>,
    /// An offset below this many nanoseconds would not have been seen; `None` if nothing was measured.
    pub blind_below_ns: Option<f64>,
    /// Which drift would have been seen, and in which time.
    pub would_have_seen: Option<VisibleDrift>,
    /// Every pair of CPUs that was to be compared.
    pub pairs: Vec<ClockPair>,
    /// What the counters did by what the CPUs did; empty where nothing was varied.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub regimes: Vec<ClockRegime>,
    /// Offsets round three CPUs: the worst, and how many were looked at.
    pub loops: Option<ClockLoops>,
    /// Reads that went backwards between two CPUs, by way of reading.
    pub backwards: Vec<BackwardsCount>,
    /// The kernel's clocks against each other.
    pub system_clocks: Vec<SystemClock>,
    /// What the kernel says of its clocks.
    pub kernel: KernelClocks,
    /// What can be done, one line each.
    pub remedies: Vec<String>,
    /// What was not measured, and why.
    pub without: Vec<String>,
    /// Ticks of the counter per second; `None` if nothing was measured.
    pub counter_hz: Option<f64>,
    /// The same as firmware states it (arm64: CNTFRQ_EL0), 0 if it left that out; `None` where nothing states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_stated_hz: Option<f64>,
    /// Calibration error of `counter_hz`, parts per million, where a rate is stated to hold against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_error_ppm: Option<f64>,
    /// Steps in which the counter counts, in nanoseconds.
    pub counter_step_ns: Option<f64>,
    /// A fault that was put into the counters on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injected: Option<String>,
    /// Wall time of the measurement in seconds.
    pub elapsed_s: f64,
}

/// Whether time is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClockVerdict {
    /// No counter differs or moves by more than could be seen.
    Safe,
    /// Counters differ or drift steadily: one correction per CPU would mend it.
    Correctable,
    /// Counters jump, or drift as their CPUs work and sleep: no constant correction mends it.
    Unsafe,
    /// Too little could be measured.
    #[default]
    CannotTell,
}

/// The drift that a check would have seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisibleDrift {
    /// Parts per billion, of the worst pair.
    pub ppb: f64,
    /// Time over which that pair was watched, in seconds.
    pub in_s: f64,
}

/// What is wrong between two counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClockFault {
    /// A constant offset.
    Offset,
    /// A constant rate.
    Slope,
    /// A jump.
    Step,
    /// A rate that is there in some P-states only.
    SlopeAtOneFrequency,
    /// A rate that is there only when CPUs sleep.
    SlopeAfterIdle,
    /// A rate that changes for no reason that was varied.
    RateChanges,
    /// Movement for certain, of which too little was seen to say whether it is a jump or drift.
    Moved,
}

/// Two CPUs and what their counters differ by: b minus a.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockPair {
    /// The reference.
    pub a: CpuId,
    /// The other.
    pub b: CpuId,
    /// Guaranteed by causality, at the time of the narrowest exchange: no symmetry is assumed.
    pub interval_ns: Option<[f64; 2]>,
    /// If both directions take equally long: mean of the narrow exchanges.
    pub estimate_ns: Option<f64>,
    /// Standard deviation of one exchange's estimate.
    pub sd_ns: Option<f64>,
    /// Standard error of the mean of all.
    pub standard_error_ns: Option<f64>,
    /// Likely drift of b against a, by least squares.
    pub rate_ppb: Option<f64>,
    /// Its standard error.
    pub rate_error_ppb: Option<f64>,
    /// Guaranteed, if the drift is constant.
    pub rate_interval_ppb: Option<[f64; 2]>,
    /// Whether no constant offset fits: drift or a jump, for certain.
    pub moves_for_certain: bool,
    /// What makes it certain.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contradiction: Option<ClockContradiction>,
    /// The jump, if that is what is wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<ClockStep>,
    /// Time from the first exchange until drift or a jump was seen, if it was.
    pub seen_after_s: Option<f64>,
    /// What is wrong.
    pub fault: Option<ClockFault>,
    /// Drift by what the CPUs were doing, in parts per billion, where several things were tried.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub rate_ppb_by_stress: BTreeMap<String, f64>,
    /// Median half-width of the causality intervals.
    pub half_width_ns: Option<f64>,
    /// Exchanges tried.
    pub exchanges: usize,
    /// Exchanges in which both sides saw enough of each other.
    pub usable: usize,
    /// Median share of an exchange during which both ran.
    pub overlap_share: f64,
    /// Median time within an exchange until its bounds were as good as they got, in milliseconds.
    pub best_after_ms: Option<f64>,
    /// Seconds from the first usable exchange to the last.
    pub watched_s: f64,
    /// Midpoints of the usable exchanges: seconds since the first, and estimate in nanoseconds.
    pub centres: Vec<[f64; 2]>,
}

/// What the counters did while the CPUs did one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockRegime {
    /// What the CPUs did: `load`, `idle`, `mixed`, `fastest`, `slowest`, `mixed_speeds`, `walk`.
    pub stress: String,
    /// Whether counters moved meanwhile.
    pub verdict: RegimeVerdict,
    /// Pairs that moved.
    pub moving: usize,
    /// Pairs of which enough was seen to tell.
    pub seen: usize,
    /// Usable exchanges of all pairs.
    pub usable: usize,
    /// The pair whose likely drift stands out most from its error.
    pub drift: Option<RegimeDrift>,
}

/// Whether counters moved while the CPUs did one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RegimeVerdict {
    /// No pair moved by more than could be seen.
    Steady,
    /// A pair moved.
    Moving,
    /// Too little was seen of a pair, and no other moved.
    CannotTell,
}

/// How two counters drifted while the CPUs did one thing: b minus a, by least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegimeDrift {
    /// The reference.
    pub a: CpuId,
    /// The other.
    pub b: CpuId,
    /// Parts per billion.
    pub rate_ppb: f64,
    /// Its standard error.
    pub error_ppb: f64,
}

/// Two bounds on the offset of one pair that no constant offset fits; times are seconds since the first exchange.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockContradiction {
    /// When the offset was at least `at_least_ns`.
    pub at_least_s: f64,
    /// Nanoseconds, less the steps in which the counters count.
    pub at_least_ns: f64,
    /// When it was at most `at_most_ns`.
    pub at_most_s: f64,
    /// Nanoseconds, more the steps in which the counters count; below `at_least_ns`.
    pub at_most_ns: f64,
}

/// A jump of one counter against another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStep {
    /// Its size in nanoseconds: an estimate.
    pub ns: f64,
    /// The exchanges between which it lies, in seconds since the first.
    pub between_s: [f64; 2],
}

/// Offsets round three CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockLoops {
    /// Triples looked at.
    pub count: usize,
    /// Triples whose intervals contradict each other.
    pub broken: usize,
    /// The triple whose estimates miss zero by most.
    pub worst: [CpuId; 3],
    /// By how much.
    pub worst_ns: f64,
}

/// How often time went backwards between two CPUs by one way of reading it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackwardsCount {
    /// `rdtsc`, `rdtscp`, `clock_gettime(CLOCK_MONOTONIC)`, ...
    pub name: String,
    /// One CPU.
    pub a: CpuId,
    /// The other.
    pub b: CpuId,
    /// Whether the read waits for earlier loads.
    pub ordered: bool,
    /// Observations of a value that was new.
    pub fresh: u64,
    /// Reads that were earlier than a value seen before.
    pub backwards: u64,
    /// The largest step back in nanoseconds.
    pub largest_ns: f64,
}

/// One of the kernel's clocks against `CLOCK_MONOTONIC_RAW`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemClock {
    /// `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`, `RTC`, ...
    pub name: String,
    /// How much faster than the raw clock, in parts per million; `None` if unknown.
    pub rate_ppm: Option<f64>,
    /// Bound on the error of the rate, in parts per million.
    pub error_ppm: Option<f64>,
    /// What it means, or why it is not known.
    pub note: Option<String>,
}

/// What the kernel says of its clocks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KernelClocks {
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// Clock sources that could be used.
    pub available: Vec<String>,
    /// Flags of the CPU that concern the counter, in the order of the kernel.
    pub flags: Vec<String>,
    /// Words of the command line that concern clocks.
    pub boot_words: Vec<String>,
    /// Messages of the kernel that concern clocks; `None` where they may not be read.
    pub messages: Option<Vec<String>>,
    /// True if the kernel gave the counter up: a message says so, or it does not offer the counter as a clock source.
    pub condemned: bool,
    /// Whether the kernel watches the counter, and why so.
    pub watchdog: Option<String>,
    /// `/dev/vmclock0` or its absence.
    pub vmclock: Option<String>,
    /// The hypervisor.
    pub hypervisor: Option<String>,
    /// State of the kernel's discipline by NTP: synchronised, frequency, offset.
    pub ntp: Option<NtpState>,
    /// C1 clock ramping of AMD's family 0Fh, where the registers can be read.
    pub c1_ramping: Option<String>,
}

/// What `adjtimex` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NtpState {
    /// Whether a daemon keeps the clock.
    pub synchronised: bool,
    /// Correction of the clock's frequency in parts per million.
    pub frequency_ppm: f64,
    /// Time still to be slewed, in microseconds.
    pub offset_us: f64,
    /// What the daemon believes the error to be, in microseconds.
    pub estimated_error_us: f64,
    /// Bound on the error, in microseconds.
    pub maximum_error_us: f64,
}
