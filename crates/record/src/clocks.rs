//! Prices of reading time.

use machine::CpuId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spread;

/// What one read of one time source costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRead {
    /// `rdtsc`, `rdtscp`, `clock_gettime(CLOCK_MONOTONIC)`, `clock_gettime system call`, ...
    pub name: String,
    /// The CPU it was measured on.
    pub cpu: CpuId,
    /// Nanoseconds per read.
    pub ns: f64,
    /// Cycles of the time-stamp counter per read; `None` without one.
    pub tsc_cycles: Option<f64>,
    /// Cycles of the core per read; `None` if the core's clock is unknown.
    pub core_cycles: Option<f64>,
    /// True if no later instruction can be seen before it and no earlier load after it.
    pub ordered: bool,
    /// Spread of `ns`.
    #[serde(flatten)]
    pub spread: Spread,
}
