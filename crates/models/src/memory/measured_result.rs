//! What a fit to measured latencies found: the document's part of it.

use machine::Bytes;
use serde::Serialize;

use super::fit::Identified;
use super::geometry::PagePlacement;

/// The program that is all over memory, as of the Phenom: 200 MiB.
pub(super) const SPREAD_BLOCK: Bytes = Bytes(200 << 20);
/// How near the model comes to what was measured, and what that leaves open.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredFit {
    /// The fitted times, and how well the chains tell them.
    pub fitted: Vec<Identified>,
    /// What of the last cache there is to be seen, by the best of several fits.
    pub last_cache_bytes: Bytes,
    /// What the machine claims.
    pub last_cache_claimed_bytes: Bytes,
    /// Sum of errors with all that is claimed over that of the best.
    pub claimed_worse: f64,
    /// Where pages lie, by the better of two fits.
    pub page_placement: PagePlacement,
    /// Sum of errors of the other placement over that of this one.
    pub other_placement_worse: f64,
    /// Each chain.
    pub chains: Vec<ChainResidual>,
    /// The same by the place that serves most of a chain.
    pub regions: Vec<RegionResidual>,
    /// Median of absolute errors, in per cent.
    pub median_error_percent: f64,
    /// What nothing here tells of the workaround: what it would cost by other choices.
    pub scenarios: Vec<Scenario>,
    /// One read past all caches in loads from memory, as the Phenom's numbers are fitted.
    pub phenom_reads_in_loads: f64,
    /// True in a guest.
    pub is_guest: bool,
    /// Why what rests on the latency of memory is withheld; `None` if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_withheld: Option<String>,
}

/// The fitted time that is known only where a chain went through memory.
pub(super) const BEYOND_CACHES: &str = "memory beyond the caches, ns";

/// A chain beside the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainResidual {
    /// The bytes it goes through.
    pub block_bytes: Bytes,
    /// Distance of neighbouring elements.
    pub stride_bytes: Bytes,
    /// The place that serves most of it.
    pub place: String,
    /// Measured.
    pub measured_ns: f64,
    /// By the model.
    pub fitted_ns: f64,
    /// Of the measured number.
    pub error_percent: f64,
    /// One unit of error.
    pub tolerance_percent: f64,
}

/// The chains that a place serves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegionResidual {
    /// A cache, or memory.
    pub place: String,
    /// How many.
    pub chains: usize,
    /// Median error with its sign, in per cent.
    pub bias_percent: f64,
    /// Median of absolute errors, in per cent.
    pub median_error_percent: f64,
    /// The largest error, with its sign.
    pub worst_percent: f64,
}

/// One way in which page tables may be read with the workaround.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scenario {
    /// Entries of a walk that come from memory.
    pub reads_per_walk: u32,
    /// Each.
    pub ns_per_read: f64,
    /// A load of a random chain over 200 MiB.
    pub random_200mb_ns: f64,
    /// The same without the workaround.
    pub random_200mb_off_ns: f64,
}
