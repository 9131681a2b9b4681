//! Interleaved experiments: two states in randomised blocks, the A/A control first, and one sentence in the end.
//!
//! [`trial_log`] decides what runs next and when to stop, [`mod@outcome`] what it amounts to; both are pure and know nothing of
//! clocks, CPUs or processes. What is run is a [`Subject`]:
//! [`probe_subject`] for the probes of sidestep, [`command_subject`] for a user's program. [`across_reboot`] is for what
//! only a boot can change. [`effects`] says which probes a toggle can move; [`switcher`] makes a state
//! hold.

pub mod across_reboot;
pub mod command_subject;
pub(crate) mod drift_probe;
pub mod effects;
mod judged_rows;
pub mod outcome;
pub mod probe_subject;
mod sentence;
pub mod subject;
pub mod switcher;
#[cfg(test)]
mod tests;
pub mod trial_log;

pub use outcome::{Labels, outcome};
pub use subject::{GuardSpec, RowSpec, Subject, Trial, TrialSet};
pub use trial_log::{PAIRS_MIN, Progress, Rules, Standing, TimeEstimate, TrialLog, run, run_factorial};
