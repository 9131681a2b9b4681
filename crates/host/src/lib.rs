//! The only door to Linux: files, CPUID, memory, threads, signals.

pub mod cpuid;
pub mod describe;
pub mod live;
pub mod root;

pub use cpuid::Cpuid;
pub use describe::describe;
pub use root::{ReadError, Root, RootError};
