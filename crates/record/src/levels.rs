//! Levels found from the measured surface, beside what the machine claims.

use std::fmt;

use machine::Bytes;
use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::ChaseOrder;

/// The effective hierarchy: derived by `diagnosis`, stored for readers of the record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Share by which random access is slower with base than with huge pages, in the largest block of that question.
    pub huge_page_gain: Option<f64>,
    /// Interval of `huge_page_gain`.
    pub huge_page_interval: Option<Interval>,
    /// What was found and is not to be believed beside the rest, or was looked for and not found, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
}

/// A value that is left out, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Withheld {
    /// What it would be: `size of L3`, `read rate of memory`.
    pub what: String,
    /// The value as it would have been shown, with its unit; `None` if there was none.
    pub value: Option<String>,
    /// Why it is left out.
    pub because: String,
}

/// How a latency was measured: no latency means anything without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// Smallest and largest block behind it; `None` if the record does not say.
    pub block_bytes: Option<[Bytes; 2]>,
    /// Page sizes behind it; of several the fastest cell counts. Empty if the record does not say.
    pub page_bytes: Vec<Bytes>,
    /// Order of the visits.
    pub order: ChaseOrder,
}

impl fmt::Display for Conditions {
    /// `random order in 128 MiB, 2 MiB pages`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.order {
            ChaseOrder::Sequential => "ascending order",
            ChaseOrder::PageConfined => "random order page by page",
            ChaseOrder::Random => "random order",
        })?;
        match self.block_bytes {
            Some([smallest, largest]) if smallest == largest => write!(formatter, " in {largest}")?,
            Some([smallest, largest]) => write!(formatter, " in {smallest} to {largest}")?,
            None => formatter.write_str(" in a block of unknown size")?,
        }
        match self.page_bytes.as_slice() {
            [] => formatter.write_str(", pages unknown"),
            [one] => write!(formatter, ", {one} pages"),
            [first @ .., last] => {
                let first: Vec<String> = first.iter().map(Bytes::to_string).collect();
                write!(formatter, ", faster of {} and {last} pages", first.join(", "))
            }
        }
    }
}

/// One level of the hierarchy as measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// What `ns` was measured in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
}

/// One TLB level as measured by its reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
