//! Epochs: fresh processes that measure one after the other, each with its own mappings, address space and orders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PlanOutcome;

/// One process that measured a part of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EpochRun {
    /// When it began, UTC, RFC 3339.
    pub started_utc: String,
    /// Seed of its orders and places, made from the run's.
    pub seed: u64,
    /// From its start until its end was seen, in seconds.
    pub elapsed_s: f64,
    /// How it ended; what it had measured until then is in the record whatever that was.
    pub outcome: PlanOutcome,
}
