//! Two sources about the same machine that do not say the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place where sysfs and CPUID contradict each other; `diagnosis` makes a finding of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    /// What they disagree on: `L3 size`, `threads per core`.
    pub subject: String,
    /// What sysfs or procfs says.
    pub sysfs: String,
    /// What CPUID says.
    pub cpuid: String,
}
