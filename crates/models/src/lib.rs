//! Predicted machines: descriptions in, numbers out; no file, no clock, no CPU.
//!
//! A model runs from a description of the machine alone. What others published of that machine is joined afterwards, so
//! that no prediction can know it.
#![forbid(unsafe_code)]

pub mod interconnect;
mod known;
pub mod least_squares;
mod machine_file;
pub mod memory;
mod published;
pub mod scheduling;
pub mod tsc;

pub use known::{KNOWN_MACHINES, KnownMachine, known, known_machine, known_machines_of};
pub use machine_file::{DescriptionError, FITTED, MachineFile, MachineKind, Sourced, parse};
pub use published::{Misses, error_percent};
