//! One estimated value with what is needed to believe or doubt it.

use serde::{Deserialize, Serialize};

use crate::Interval;

/// A value, its interval, and the counts behind it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The estimate itself, in the unit of the samples.
    pub value: f64,
    /// 95 % interval: the wider of within-mapping and between-mapping, resampled by mapping.
    pub interval: Interval,
    /// Windows that count.
    pub windows: usize,
    /// Fresh mappings behind them; 1 means that page placement is inside the value, not the interval.
    pub mappings: usize,
    /// More than one entry when the windows fall into separate states; never averaged.
    pub modes: Vec<Mode>,
}

/// One of several separate states that the windows of a measurement fall into.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// Median of the windows in this state.
    pub value: f64,
    /// Share of the windows, 0 to 1.
    pub share: f64,
}

impl Estimate {
    /// Half-width of the interval relative to the value; infinite for a value of zero.
    pub fn relative_half_width(&self) -> f64 {
        if self.value == 0.0 { f64::INFINITY } else { self.interval.half_width() / self.value.abs() }
    }
}
