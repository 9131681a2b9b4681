//! What disturbed a run, seen from inside.

use machine::Hertz;
use serde::{Deserialize, Serialize};

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
