//! Probes of memory: latency surface, bandwidth, STREAM, address translation, load.

pub mod bandwidth;
mod crew;
mod error;
pub mod loaded;
pub mod orders;
pub mod parallel;
mod room;
mod series;
pub mod sockets;
pub mod stream;
pub mod surface;
pub mod walks;

pub use error::MemoryError;
pub use room::largest_block;
pub(crate) use room::room_of;
