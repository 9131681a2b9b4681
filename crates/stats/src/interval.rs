//! An interval of plausible values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Plausible values at 95 % unless said otherwise; written `[low, high]` in records.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
#[cfg_attr(feature = "schema", schemars(with = "[f64; 2]"))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval between two values in either order.
    pub fn between(a: f64, b: f64) -> Self {
        Self { low: a.min(b), high: a.max(b) }
    }

    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// True if the value lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// True if the two share a value.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// The smallest interval that holds both.
    #[must_use]
    pub fn hull(&self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Both ends through a monotonic function, such as a change of unit; a falling one swaps them.
    #[must_use]
    pub fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        Self::between(function(self.low), function(self.high))
    }
}

impl From<[f64; 2]> for Interval {
    fn from([low, high]: [f64; 2]) -> Self {
        Self { low, high }
    }
}

impl From<Interval> for [f64; 2] {
    fn from(interval: Interval) -> [f64; 2] {
        [interval.low, interval.high]
    }
}

impl fmt::Display for Interval {
    /// `[low, high]`, with the precision asked for (`{:.1}`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = f.precision().unwrap_or(3);
        write!(f, "[{:.precision$}, {:.precision$}]", self.low, self.high)
    }
}
