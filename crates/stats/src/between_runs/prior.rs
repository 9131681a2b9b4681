//! What is known of the spread between runs before a machine has runs of its own: the shipped table, in this one place.

use serde::{Deserialize, Serialize};

use super::Variance;

named! {
    /// Rows that one cause moves together and whose spread between runs is of one size.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum RowClass {
        /// The frequency of the core, by the control loop.
        CoreClock = "core clock",
        /// Latency of the first and second level: fixed numbers of core cycles.
        CoreLatency = "L1 and L2 latency",
        /// Ways to read the time.
        ClockReads = "clock reads",
        /// Loops that touch no memory: controls.
        Arithmetic = "control loops",
        /// Bandwidth of the first and second level.
        CacheBandwidth = "L1 and L2 bandwidth",
        /// Bandwidth of the levels behind, which cores share.
        SharedCacheBandwidth = "L3 bandwidth",
        /// Latency of the levels behind the second.
        SharedCacheLatency = "L3 latency",
        /// Latency of memory with nobody else at work.
        MemoryLatency = "memory latency",
        /// Latency of memory while other CPUs stream.
        LoadedLatency = "loaded memory latency",
        /// Bandwidth of blocks in memory.
        MemoryBandwidth = "memory bandwidth",
        /// STREAM.
        Stream = "STREAM",
        /// Misses of the TLBs and page walks.
        PageWalks = "page walks",
        /// Lines that move between CPUs.
        LineTransfer = "line transfer",
        /// Slowdowns of two CPUs at once.
        Sharing = "CPUs sharing resources",
        /// Waking a sleeping CPU.
        Waking = "waking a CPU",
        /// Reads of the first level in cycles of the core beside them, whatever its clock.
        CoreCycles = "L1 reads in cycles",
        /// The same of the second level: a sibling that is at work makes them longer.
        SecondCycles = "L2 reads in cycles",
        /// Reads at random of more memory than caches hold.
        RandomReads = "random reads of memory",
        /// Reads at random of blocks that the last cache holds, or not.
        LastCache = "reads beyond L2",
        /// The same reads on one CPU and on another, turn by turn.
        CpuOverCpu = "one CPU over another",
        /// The same reads in small and in huge pages, turn by turn.
        HugePages = "gain of huge pages",
    }
}

impl RowClass {
    /// True for what memory and caches make: what is said of memory as a whole is over these.
    pub const fn is_memory(self) -> bool {
        matches!(
            self,
            Self::CoreLatency
                | Self::CacheBandwidth
                | Self::SharedCacheBandwidth
                | Self::SharedCacheLatency
                | Self::MemoryLatency
                | Self::LoadedLatency
                | Self::MemoryBandwidth
                | Self::Stream
                | Self::PageWalks
                | Self::CoreCycles
                | Self::SecondCycles
                | Self::RandomReads
                | Self::LastCache
        )
    }
}

/// Where a machine's neighbours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// A guest: others share the memory, the last-level cache, perhaps the core.
    Guest,
    /// Nobody below the kernel.
    BareMetal,
}

impl Host {
    /// By whether a hypervisor is below the kernel.
    pub const fn of(in_guest: bool) -> Self {
        if in_guest { Self::Guest } else { Self::BareMetal }
    }
}

/// The spread between runs of the rows of a class, of logarithms, as it is taken where nothing better is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prior {
    pub class: RowClass,
    /// Standard deviation of one row between single runs.
    pub row: f64,
    /// Standard deviation of what all rows of the class share.
    pub common: f64,
    /// Degrees of freedom that these are worth: how much hosts may differ in it.
    pub degrees: f64,
    /// True if its rows stay in one of few states for many runs: a few earlier runs that look alike may all have seen
    /// the same one, so the spread is never taken to be below this before there are twenty of them.
    pub has_states: bool,
    /// Where the numbers are from.
    pub source: &'static str,
}

/// So many runs are taken to have seen every state.
pub(super) const MANY_RUNS: usize = 20;

/// Few hosts were measured, so tails are taken to be those of Student's distribution with as few degrees.
const DEGREES: f64 = 6.0;

const fn prior(class: RowClass, row: f64, common: f64, source: &'static str) -> Prior {
    prior_worth(DEGREES, class, row, common, source)
}

const fn prior_worth(degrees: f64, class: RowClass, row: f64, common: f64, source: &'static str) -> Prior {
    Prior {
        class,
        row,
        common,
        degrees,
        has_states: matches!(
            class,
            RowClass::LineTransfer | RowClass::Sharing | RowClass::PageWalks | RowClass::CoreCycles
        ),
        source,
    }
}

const BUSY: &str = "45 quick check-ups of a Zen 4 guest beside a neighbour that starts and stops";
const QUIET: &str = "60 quick check-ups of a quiet Zen 4 guest";
const DEFAULT: &str = "6 default check-ups of a quiet Zen 4 guest";
const QUICK: &str = "8 quick check-ups of a quiet Zen 4 guest";

const ONE_CORE: &str =
    "24 quick check-ups of a quiet Zen 4 guest whose CPUs sat on one core of the host in three of them";

const QUESTIONS: &str = "44 quick and 6 default check-ups of a Linux 6.18 guest of two CPUs, beside a neighbour that comes and goes";

/// The worst row of each class of all that was measured on guests (METHODOLOGY.md, True between runs).
const GUEST: [Prior; RowClass::ALL.len()] = [
    prior(RowClass::CoreClock, 0.026, 0.026, BUSY),
    prior(RowClass::CoreLatency, 0.037, 0.028, BUSY),
    prior(RowClass::ClockReads, 0.020, 0.020, QUICK),
    prior(RowClass::Arithmetic, 0.046, 0.028, BUSY),
    prior(RowClass::CacheBandwidth, 0.108, 0.035, QUIET),
    prior(RowClass::SharedCacheBandwidth, 0.182, 0.050, QUIET),
    prior(RowClass::SharedCacheLatency, 0.211, 0.102, BUSY),
    prior(RowClass::MemoryLatency, 0.251, 0.251, DEFAULT),
    prior(RowClass::LoadedLatency, 0.369, 0.369, DEFAULT),
    prior(RowClass::MemoryBandwidth, 0.140, 0.091, QUICK),
    prior(RowClass::Stream, 0.086, 0.078, DEFAULT),
    prior(RowClass::PageWalks, 0.477, 0.290, BUSY),
    prior(RowClass::LineTransfer, 0.536, 0.522, BUSY),
    prior(RowClass::Sharing, 0.217, 0.110, ONE_CORE),
    prior(RowClass::Waking, 0.239, 0.179, DEFAULT),
    prior_worth(8.0, RowClass::CoreCycles, 0.006, 0.006, QUESTIONS),
    prior_worth(8.0, RowClass::SecondCycles, 0.020, 0.020, QUESTIONS),
    prior_worth(8.0, RowClass::RandomReads, 0.030, 0.030, QUESTIONS),
    prior_worth(4.0, RowClass::LastCache, 0.030, 0.030, QUESTIONS),
    prior_worth(8.0, RowClass::CpuOverCpu, 0.015, 0.015, QUESTIONS),
    prior_worth(4.0, RowClass::HugePages, 0.050, 0.050, QUESTIONS),
];

impl RowClass {
    /// The variance between runs of one unchanged guest of a row of this class, of its logarithm.
    pub fn variance(self) -> Variance {
        let prior = prior_of(self, Host::Guest);
        Variance { value: prior.row.powi(2), degrees: prior.degrees }
    }
}

/// What is known of a class before any history.
///
/// Bare metal is assumed to be no worse than a guest until it is measured.
pub(super) fn prior_of(class: RowClass, host: Host) -> Prior {
    match host {
        Host::Guest | Host::BareMetal => GUEST[class as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_own_line_and_no_class_spreads_less_together_than_nothing() {
        for (index, prior) in GUEST.iter().enumerate() {
            assert_eq!(prior.class as usize, index, "{prior:?}");
            assert!(prior.common > 0.0 && prior.common <= prior.row && prior.degrees >= 1.0, "{prior:?}");
        }
    }
}
