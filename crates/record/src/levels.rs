//! Levels that name the rows of the measured surface, and those of address translation.

use std::collections::BTreeMap;

use machine::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::Interval;

/// Levels of caches and of address translation: derived by `diagnosis`, stored for readers of the record.
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
    /// What was found and is not to be believed beside another row, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// What earlier versions said beside them, kept as it is.
    #[serde(flatten)]
    pub earlier: BTreeMap<String, Value>,
}

/// A value that is left out, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Withheld {
    /// What it would be: `TLB L2`, `page walk`.
    pub what: String,
    /// The value as it would have been shown, with its unit; `None` if there was none.
    pub value: Option<String>,
    /// Why it is left out.
    pub because: String,
}

/// One level as the surface shows it, by which its rows are named; what a cache does is among the answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// `L1`, `L2`, `L3`, `memory`.
    pub name: String,
    /// Where it ends on the surface; `None` for memory, and where no steady block decides.
    pub size_bytes: Option<Bytes>,
    /// Bounds of that in bytes: the last block that fits and the first that does not.
    pub size_interval: Option<Interval>,
    /// Latency on its plateau in nanoseconds.
    pub ns: f64,
    /// What earlier versions said of it, kept as it is.
    #[serde(flatten)]
    pub earlier: BTreeMap<String, Value>,
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
