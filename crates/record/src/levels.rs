//! Levels found from the measured surface, beside what the machine claims.

use machine::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Interval;

/// The effective hierarchy: derived by `diagnosis`, stored for readers of the record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Levels {
    /// Caches and memory, nearest first; the last one is memory.
    pub caches: Vec<Level>,
    /// TLB levels, nearest first.
    pub tlbs: Vec<TlbLevel>,
    /// Cost of a page walk in ns with its interval, where the walks miss every TLB.
    pub walk_ns: Option<f64>,
    /// Interval of `walk_ns`.
    pub walk_interval: Option<Interval>,
    /// Share by which random access is slower with 4 KiB than with huge pages, at the largest block.
    pub huge_page_gain: Option<f64>,
    /// Interval of `huge_page_gain`.
    pub huge_page_interval: Option<Interval>,
}

/// One level of the hierarchy as measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// `L1`, `L2`, `L3`, `memory`.
    pub name: String,
    /// Effective capacity; `None` for memory.
    pub size_bytes: Option<Bytes>,
    /// Bounds of the capacity in bytes: the last block that fits and the first that does not.
    pub size_interval: Option<Interval>,
    /// What the machine claims.
    pub claimed_bytes: Option<Bytes>,
    /// Latency on its plateau in nanoseconds.
    pub ns: f64,
    /// Interval of `ns`.
    pub ns_interval: Interval,
    /// Latency in core cycles, if the core's clock is known.
    pub core_cycles: Option<f64>,
    /// Read bandwidth of one CPU in its middle, bytes per second.
    pub read_bytes_per_s: Option<f64>,
    /// Interval of `read_bytes_per_s`.
    pub read_interval: Option<Interval>,
}

/// One TLB level as measured by its reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TlbLevel {
    /// 1 is nearest.
    pub level: u8,
    /// Entries, as far as timing can tell.
    pub entries: u64,
    /// The last page count that fits and the first that does not.
    pub entries_interval: Interval,
    /// What CPUID claims.
    pub claimed_entries: Option<u32>,
    /// Added cost of missing it in nanoseconds.
    pub miss_ns: f64,
    /// Interval of `miss_ns`.
    pub miss_interval: Interval,
}
