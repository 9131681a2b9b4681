//! What disturbed a run, seen from inside; what others took from it, epoch by epoch.

use machine::Hertz;
use serde::{Deserialize, Serialize};
use stats::RowClass;

/// Signs of disturbance during the whole run. `None` where the machine does not tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Guards {
    /// Share of CPU time that the hypervisor gave to others, 0 to 1 (`steal` of /proc/stat).
    pub steal_share: Option<f64>,
    /// Share of all CPU time that other processes of this machine used, 0 to 1.
    pub others_share: Option<f64>,
    /// Share of the time in which the main thread wanted to run that it waited in the run queue, 0 to 1.
    pub waited_share: Option<f64>,
    /// Load averages over one minute, before and after.
    pub load_average: Option<[f64; 2]>,
    /// Involuntary context switches of the measuring threads.
    pub involuntary_switches: u64,
    /// Windows taken in all.
    pub windows: u64,
    /// Windows set aside.
    pub windows_dropped: u64,
    /// Slowest and fastest core clock that the control loop saw.
    pub core_hz: Option<[Hertz; 2]>,
    /// Frequency of the counter behind the clock: the time-stamp counter, on arm64 CNTVCT_EL0.
    #[serde(alias = "tsc_hz")]
    pub counter_hz: Option<Hertz>,
    /// Calibration error of `counter_hz`, parts per million.
    #[serde(alias = "tsc_error_ppm")]
    pub counter_error_ppm: Option<f64>,
    /// Thermal throttle events counted by the kernel during the run.
    pub throttle_events: Option<u64>,
    /// Signs that the numbers are doubtful, one line each.
    pub doubts: Vec<String>,
}

impl Guards {
    /// Steal above this share makes numbers doubtful: it moves low quantiles, not only tails, as one window in twenty then lost a tenth of
    /// its time or more.
    pub const STEAL_DOUBTFUL: f64 = 0.02;
    /// Other processes that use more than this share of all CPUs make numbers doubtful: others are always a little at work.
    pub const OTHERS_DOUBTFUL: f64 = 0.15;
    /// More windows than this share set aside make numbers doubtful; 2 to 3 % is normal on a loaded machine.
    pub const DROPPED_DOUBTFUL: f64 = 0.20;
}

/// How much of the CPUs an epoch got, as its own process saw it; `None` where the machine does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuShare {
    /// Share of all CPU time that the hypervisor gave to others.
    pub steal_share: Option<f64>,
    /// Share of all CPU time that other programs of this system used.
    pub others_share: Option<f64>,
    /// Share of the time in which the measuring thread wanted to run that it waited in the run queue.
    pub waited_share: Option<f64>,
    /// Share of its core that the worst CPU had on average while only its control loops ran: below 1 a sibling was busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_share: Option<f64>,
}

impl CpuShare {
    /// True if the machine told nothing.
    pub fn is_unreported(&self) -> bool {
        *self == Self::default()
    }
}

/// What an epoch was slower in than the best one, as ratios of costs: 1.38 is 38 % slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EpochCost {
    /// The rows behind it.
    pub class: RowClass,
    /// By epoch, the best has 1.
    pub ratios: Vec<f64>,
    /// Above this ratio an epoch was not just unlucky.
    pub limit: f64,
}

/// Whether others were at work beside a check-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Neighbours {
    /// True if a hypervisor is below: then others are guests of the same host too.
    pub in_guest: bool,
    /// What each class cost by epoch.
    pub costs: Vec<EpochCost>,
    /// Epochs, counted from 1, in which others were at work.
    pub at_work: Vec<usize>,
    /// What this shows, in sentences.
    pub shows: Vec<String>,
}
