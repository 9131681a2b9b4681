//! Probes of memory: latency surface, bandwidth, STREAM, address translation, load.

pub mod bandwidth;
pub mod loaded;
pub mod parallel;
pub mod sockets;
pub mod stream;
pub mod surface;
pub mod walks;
mod worker_group;

use host::live::{AffinityError, Mapping, MappingError, NodeMemoryError, PageRequest, map_on_node};
use machine::{Bytes, NodeId};

use crate::session::SessionError;

/// Half-width of the interval at which a point is done, as a share of its value.
const HALF_WIDTH: f64 = 0.02;

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
        "{cpus} CPUs at once would take {required}, more than there is room for; allow fewer with --cpus, or give more memory"
    )]
    NoRoom {
        /// How many.
        cpus: usize,
        /// What they need at least.
        required: Bytes,
    },
    /// Load from other CPUs needs other CPUs.
    #[error("only one CPU may be used, and load comes from the others; allow a second one with --cpus")]
    OneCpu,
}

impl MemoryError {
    /// True if laying memory was broken off at the end of its time.
    fn is_broken_off(&self) -> bool {
        let (Self::Mapping(error) | Self::Node(NodeMemoryError::Mapping(error))) = self else { return false };
        matches!(error, MappingError::BrokenOff { .. })
    }
}

/// Huge pages of one node, or from wherever they come, laid as long as it may go on.
///
/// # Errors
/// A node that may not be used, or too little memory.
fn mapped(block: Bytes, node: Option<NodeId>, goes_on: &dyn Fn() -> bool) -> Result<Mapping, MemoryError> {
    let bytes = block.0 as usize;
    Ok(match node {
        Some(node) => map_on_node(bytes, PageRequest::Huge, node, goes_on)?,
        None => Mapping::new_while(bytes, PageRequest::Huge, goes_on)?,
    })
}
