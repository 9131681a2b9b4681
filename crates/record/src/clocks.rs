//! Prices of reading time.

use machine::CpuId;
use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::Spread;

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
