//! Predicted machines: descriptions in, numbers out; no file, no clock, no CPU.
//!
//! A model runs from a description of the machine alone. What others published of that machine is joined afterwards, so
//! that no prediction can know it.
#![forbid(unsafe_code)]

pub mod interconnect;
mod known;
mod machine_file;
pub mod memory;
pub mod scheduling;
pub mod tsc;

pub use known::{KnownMachine, known_machines};
pub use machine_file::{DescriptionError, FITTED, Sourced};
