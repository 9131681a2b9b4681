//! Interleaved experiments: two states in randomised quads, the A/A twin first, and one sentence in the end.
//!
//! [`course`] decides what runs next and when to stop, [`mod@outcome`] what it amounts to; both are pure and know nothing of
//! clocks, CPUs or processes. What is run is a [`Subject`]:
//! [`probe_subject`] for the probes of sidestep, [`command_subject`] for a user's program. [`across_reboot`] is for what
//! only a boot can change. [`effects`] says which probes a toggle can move; [`switcher`] makes a state
//! hold.

pub mod across_reboot;
mod bill;
pub mod command_subject;
pub mod course;
pub(crate) mod drift_probe;
pub mod effects;
#[cfg(test)]
mod four_states_tests;
mod judged_rows;
mod layout;
pub mod metric;
pub mod outcome;
pub mod probe_subject;
mod sentence;
pub mod subject;
pub mod switcher;
#[cfg(test)]
mod tests;

pub use bill::{Bill, PAIRS_MIN};
pub use course::{Course, Progress, Rules, Standing, run, run_factorial};
pub use outcome::{Labels, outcome};
pub use subject::{GuardSpec, RowSpec, Subject, Taken, Trial};
