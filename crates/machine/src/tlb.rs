//! What CPUID says of translation look-aside buffers: a claim to compare with measured reach.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// What a translation look-aside buffer translates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TlbKind {
    /// Loads and stores.
    Data,
    /// Loads only.
    Load,
    /// Stores only.
    Store,
    /// Instruction fetch.
    Instruction,
    /// All of them.
    Unified,
}

/// One TLB for one set of page sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tlb {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it translates.
    pub kind: TlbKind,
    /// Page sizes it holds; shared entries list several.
    pub page_bytes: Vec<Bytes>,
    /// Number of entries.
    pub entries: u32,
    /// Associativity; `None` if CPUID does not say, `Some(0)` is fully associative.
    pub ways: Option<u32>,
}
