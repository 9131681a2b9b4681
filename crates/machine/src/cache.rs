//! One cache instance: what it claims to be and which CPUs share it.

use serde::{Deserialize, Serialize};

use crate::{Bytes, CpuSet};

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    #[default]
    Unified,
}

/// One cache instance as the machine describes it; the effective size may differ, see `diagnosis`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Claimed capacity.
    pub size_bytes: Option<Bytes>,
    /// Line size; `None` where the machine does not say.
    pub line_bytes: Option<Bytes>,
    /// Associativity; `Some(0)` is fully associative, as the kernel writes it.
    pub ways: Option<u32>,
    /// The CPUs that share this instance.
    pub shared_by: CpuSet,
    /// True if the machine does not say who shares it: the threads of one core are then taken, and it may be more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sharers_unknown: bool,
}

impl Cache {
    /// The usual short name: `L1d`, `L1i`, `L2`, `L3`.
    pub fn name(&self) -> String {
        let suffix = match self.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        format!("L{}{suffix}", self.level)
    }
}
