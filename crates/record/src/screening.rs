//! What a screening for silent data corruption by another program found on the machine.

use machine::CpuSet;
use serde::{Deserialize, Serialize};

/// A run of OpenDCDiag, from its log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Screening {
    /// Which version of it, in its own words.
    pub version: String,
    /// `pass`, `fail`, `invalid`, `interrupted`, as it says; `unfinished` where the log ends before.
    pub exit: String,
    /// Its tests, by name.
    pub tests: Vec<ScreenedTest>,
}

/// All runs of one test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScreenedTest {
    /// Its name.
    pub test: String,
    /// The worst of all results: `skip`, `pass`, `unfinished`, `interrupted`, `operating system error`, `timed out`, `crash`, `fail`.
    pub result: String,
    /// How often it ran.
    pub runs: u64,
    /// CPUs whose threads failed in any of them.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub failed_on: CpuSet,
}
