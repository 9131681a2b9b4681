//! The documents of `sidestep clock watch`: one for each thing that happened to a clock, one per line.

use machine::CpuId;
use serde::Serialize;

use crate::ClockFault;

/// Version of the document.
pub const CLOCK_EVENT_SCHEMA: u32 = 1;

/// Something that happened to a clock, or the beginning or end of the watch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockEvent {
    /// Version of the document, `CLOCK_EVENT_SCHEMA` when written by this version.
    pub schema: u32,
    /// When it was noticed: UTC, as RFC 3339.
    pub at_utc: String,
    /// The same in words.
    pub text: String,
    /// What happened.
    #[serde(flatten)]
    pub what: ClockHappening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ClockHappening {
    /// The watch began.
    Began {
        /// CPUs watched.
        cpus: usize,
        /// The kernel's clock source.
        clock_source: Option<String>,
        /// Time from one probe to the next in seconds.
        period_s: f64,
    },
    /// Two counters differ or moved.
    Counters {
        /// The reference.
        a: CpuId,
        /// The other.
        b: CpuId,
        /// What is wrong.
        fault: ClockFault,
        /// Guaranteed offset of b against a, in nanoseconds, at the narrowest exchange.
        interval_ns: Option<[f64; 2]>,
        /// Size of the jump in nanoseconds, for a step.
        step_ns: Option<f64>,
        /// Likely drift in parts per billion, for a slope.
        rate_ppb: Option<f64>,
        /// Seconds from the first probe that was counted until this was seen.
        seen_after_s: f64,
    },
    /// The kernel changed its clock source.
    ClockSource {
        /// Before.
        from: Option<String>,
        /// After.
        to: Option<String>,
    },
    /// The machine slept.
    Suspended {
        /// For so long, in nanoseconds.
        ns: f64,
    },
    /// A CPU came or went.
    HotPlug {
        /// CPUs online before.
        from: Option<String>,
        /// CPUs online after.
        to: Option<String>,
    },
    /// The hypervisor says that it moved or restored this machine.
    VmDisrupted,
    /// The system's time of day was set.
    SystemTimeStepped {
        /// By so much, in nanoseconds; forward is positive.
        ns: f64,
    },
    /// The counter and the kernel's raw clock parted at once.
    CounterJumped {
        /// By so much, in nanoseconds; a counter that is ahead is positive.
        ns: f64,
    },
    /// Nothing ran for longer than a probe can be late on a busy machine.
    Stalled {
        /// For so long, in nanoseconds.
        ns: f64,
    },
    /// The hardware clock went on while the system's clock did not, or the other way round: a machine that was paused or
    /// restored.
    HardwareClockMoved {
        /// Seconds that the hardware clock gained.
        s: f64,
    },
    /// The kernel's clock came under a daemon's discipline, or left it.
    Synchronisation {
        /// Whether it is disciplined now.
        synchronised: bool,
    },
    /// A CPU is no longer watched.
    Lost {
        /// The CPU.
        cpu: CpuId,
        /// Why.
        reason: String,
    },
    /// The watch ended.
    Ended(ClockWatchSummary),
}

/// What a watch saw, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockWatchSummary {
    /// Seconds from the first probe to the last.
    pub watched_s: f64,
    /// Things that happened.
    pub events: u64,
    /// Probes made.
    pub probes: u64,
    /// Probes in which two CPUs saw enough of each other.
    pub usable: u64,
    /// Probes in which no counters were compared, since comparing would have taken more than its share of a CPU.
    pub spared: u64,
    /// Time on a CPU, as a share of one CPU.
    pub cpu_share: f64,
    /// Share of the time in which a jump of a counter would have been noticed, mean of all pairs; `None` where there is no second
    /// CPU to compare with.
    #[serde(default)]
    pub watched_share: Option<f64>,
    /// An offset below this many nanoseconds would not have been seen, of the worst pair that was.
    #[serde(default)]
    pub blind_below_ns: Option<f64>,
    /// Drift below this many parts per billion would not have been seen, of the worst pair that was.
    #[serde(default)]
    pub unseen_drift_ppb: Option<f64>,
}

impl ClockWatchSummary {
    /// Whether counters were watched for half of the time or more, so that nothing seen means something; without a second CPU
    /// nothing of counters is claimed.
    pub fn could_watch(&self) -> bool {
        self.watched_share.is_none_or(|share| share >= 0.5)
    }
}
