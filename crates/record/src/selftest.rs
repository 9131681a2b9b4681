//! What the self-test finds: how precise sidestep is on a machine, and how often it differs from itself.
//!
//! Every comparison has the same work on both sides: what differs is noise.

use serde::Serialize;
use stats::{Interval, Reach};

/// What the self-test has found so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Selftest {
    /// Detectable difference of each kind of loop.
    pub resolution: Vec<Resolution>,
    /// False alarms of all kinds together.
    pub alarms: Alarms,
    /// What could not be measured, and why.
    pub without: Vec<String>,
}

impl Selftest {
    /// The kind of loop that stands for all: memory latency where it was measured.
    pub fn headline(&self) -> Option<&Resolution> {
        let named = |name: &&str| self.resolution.iter().find(|one| one.kind == *name);
        ["memory latency", "L1 latency"].iter().find_map(named).or(self.resolution.first())
    }
}

/// What one kind of loop can show on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// The kind of loop.
    pub kind: String,
    /// Unit of the typical value.
    pub unit: String,
    /// Median of all trials.
    pub typical: f64,
    /// Pairs of trials.
    pub pairs: usize,
    /// Time spent in seconds, what is between the windows included.
    pub seconds: f64,
    /// Shift of the second arm against the first, as a share; both did the same.
    pub shift: f64,
    /// 95 % interval of the shift.
    pub interval: Interval,
    /// Half-width of that interval.
    pub half_width: f64,
    /// Difference, as a share, that would be found in four of five tries of this length.
    pub detectable: f64,
    /// Time in seconds after which 1 % would be found, as widths shrink with the root of the time.
    pub seconds_for_one_percent: f64,
    /// Groups of 12 pairs tested.
    pub groups: usize,
    /// Of these, false alarms at 5 %.
    pub alarms: usize,
}

/// False alarms over all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alarms {
    /// Groups of 12 pairs of equal work.
    pub groups: usize,
    /// Groups called different at 5 %, without correction.
    pub alarms: usize,
    /// More than this are fewer than once in a hundred by chance.
    pub limit: usize,
}

/// What a comparison of runs can show on this host, and what that rests on.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct BetweenRuns {
    /// What the spreads are from, in a sentence.
    pub rests_on: String,
    /// By class.
    pub classes: Vec<Reach>,
    /// Classes that cannot show what they should in three runs against three, and why: one sentence each.
    pub falls_short: Vec<String>,
}
