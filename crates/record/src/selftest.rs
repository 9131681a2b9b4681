//! What the self-test finds: how precise sidestep is on a machine, and how often it differs from itself.
//!
//! Every comparison has the same work on both sides: what differs is noise.

use machine::{Bytes, CpuId, Hertz};
use serde::Serialize;
use stats::{Interval, Reach};

use crate::Quality;

/// What the self-test has found so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Selftest {
    /// Control loops of each CPU.
    pub control: Vec<ControlState>,
    /// Share of a mapping that the kernel gave in huge pages when asked; `None` if it gave no memory.
    pub huge_page_share: Option<f64>,
    /// Overlap of threads on pairs of CPUs.
    pub overlap: Vec<Overlap>,
    /// Detectable difference of each kind of loop.
    pub resolution: Vec<Resolution>,
    /// False alarms of all kinds together.
    pub alarms: Alarms,
    /// Surfaces against themselves.
    pub twins: Vec<Twins>,
    /// Coverage of the intervals of a surface, if it was asked for.
    pub coverage: Option<Coverage>,
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

/// The control loops of one CPU at both ends of the self-test.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ControlState {
    /// The CPU.
    pub cpu: CpuId,
    /// The core's frequency; `None` for the reason beside it.
    pub core_hz: Option<Hertz>,
    /// Why the frequency is unknown.
    pub unknown_because: Option<String>,
    /// Time of a dependent multiply over that of a dependent rotate.
    pub multiply_per_rotate: f64,
    /// Share of the core that the CPU has, against the best CPU.
    pub core_share: f64,
    /// Nanoseconds per dependent multiply at the begin.
    pub multiply_ns: f64,
    /// Nanoseconds per independent add at the begin.
    pub port_ns: f64,
    /// Change of the time per multiply over the self-test, as a share; `None` if it ended early.
    pub multiply_drift: Option<f64>,
    /// Change of the time per independent add, as a share; `None` if it ended early.
    pub port_drift: Option<f64>,
}

/// Overlap of two threads on two CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overlap {
    /// The CPU that looks.
    pub a: CpuId,
    /// The CPU that publishes.
    pub b: CpuId,
    /// Values seen for the first time per millisecond, median over the slices during which both ran, else over all.
    pub fresh_per_ms: f64,
    /// Share of the slices of a millisecond during which both ran.
    pub together_share: f64,
    /// True if measurements with threads on both CPUs mean something.
    pub can_tell: bool,
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

/// A surface against itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Twins {
    /// Pages asked for.
    pub page_bytes: Bytes,
    /// Cells that both surfaces have.
    pub cells: usize,
    /// Cells called different after correction over all cells.
    pub called_different: usize,
    /// Share of the cells not marked unstable whose values agree within 5 %.
    pub agreeing_share: f64,
    /// Cells not marked unstable that do not agree within 5 %.
    pub disagreeing: usize,
    /// Share of the cells marked unstable, over both surfaces.
    pub unstable_share: f64,
    /// Share of the cells marked converged, over both surfaces.
    pub converged_share: f64,
    /// The cells called different or not agreeing, the worst first, at most a few.
    pub named: Vec<CellPair>,
    /// Time spent in seconds.
    pub seconds: f64,
}

/// One cell as both surfaces saw it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellPair {
    /// Size of the block.
    pub block_bytes: Bytes,
    /// Distance of neighbouring elements.
    pub stride_bytes: Bytes,
    /// Nanoseconds in each surface.
    pub ns: [f64; 2],
    /// Relative half-width in each surface.
    pub half_width: [f64; 2],
    /// Fresh mappings behind it in each surface.
    pub mappings: [usize; 2],
    /// What each surface says of its own cell.
    pub quality: [Quality; 2],
    /// Corrected p that both stand for one value.
    pub q: f64,
}

/// Coverage over all cells and repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Cells.
    pub cells: usize,
    /// Repeats of each.
    pub repeats: usize,
    /// Intervals: cells by repeats.
    pub intervals: usize,
    /// Share of the intervals that hold the median of all repeats of their cell.
    pub covered_share: f64,
    /// The same share among the intervals marked converged.
    pub covered_share_converged: f64,
    /// Share of the intervals marked converged.
    pub converged_share: f64,
    /// Share of the intervals marked unstable.
    pub unstable_share: f64,
    /// All widths times this number would cover 90 %: below 1, intervals are wider than they need to be.
    pub factor_for_90_percent: f64,
    /// All widths times this number would cover 95 %.
    pub factor_for_95_percent: f64,
    /// The cells covered worst, at most a few.
    pub named: Vec<CellCoverage>,
    /// Time spent in seconds.
    pub seconds: f64,
}

/// Coverage of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellCoverage {
    /// Size of the block.
    pub block_bytes: Bytes,
    /// Distance of neighbouring elements.
    pub stride_bytes: Bytes,
    /// Median of all repeats in nanoseconds.
    pub ns: f64,
    /// Share of its intervals that hold that median.
    pub covered_share: f64,
    /// Median of its relative half-widths.
    pub half_width: f64,
    /// Half of the distance between the 5 % and the 95 % quantile of its values, as a share: what the half-width should be.
    pub scatter: f64,
    /// Share of its repeats that are off by more than 5 % and not marked unstable.
    pub far_unmarked_share: f64,
    /// Share of its repeats marked converged.
    pub converged_share: f64,
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
