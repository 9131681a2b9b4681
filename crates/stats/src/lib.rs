//! Pure numbers: estimates with intervals, verdicts, change points. No file, no clock, no CPU.
#![forbid(unsafe_code)]

mod estimate;
mod interval;

pub use estimate::{Estimate, Mode};
pub use interval::Interval;
