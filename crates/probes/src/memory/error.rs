//! Why a memory probe could not measure.

use host::live::{AffinityError, MappingError, NodeMemoryError};
use machine::Bytes;

use crate::session::SessionError;

/// Why a memory probe could not measure.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// No memory for the block.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// No memory of a node.
    #[error(transparent)]
    Node(#[from] NodeMemoryError),
    /// A debug build.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A CPU may not be used.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// Several CPUs at once, each with memory of its own, have too little together.
    #[error(
        "{cpus} CPUs at once would take {wanted}, more than there is room for; allow fewer with --cpus, or give more memory"
    )]
    NoRoom {
        /// How many.
        cpus: usize,
        /// What they need at least.
        wanted: Bytes,
    },
    /// Load from other CPUs needs other CPUs.
    #[error("only one CPU may be used, and load comes from the others; allow a second one with --cpus")]
    OneCpu,
}

impl MemoryError {
    /// True if laying memory was broken off at the end of its time.
    pub(super) fn is_broken_off(&self) -> bool {
        let (Self::Mapping(error) | Self::Node(NodeMemoryError::Mapping(error))) = self else { return false };
        matches!(error, MappingError::BrokenOff { .. })
    }
}
