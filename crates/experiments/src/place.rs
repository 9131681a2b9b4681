//! Placements of a program's threads: profiled, decided, predicted, and proven in turns against the kernel's own.
//!
//! [`thread_table`] knows a thread again in the next run; [`arrangement`] says what CPUs share and puts threads on them;
//! [`decision`] finds the best such, [`prediction`] says what each should gain, [`arms`] what is tried beside it; [`follower`] makes it hold in a live process tree;
//! [`run_subject`] and [`window_subject`] are what the experiment is made around, [`mod@outcome`] what it amounts to. The kernel's own placement is always
//! an arm, and what the experiment does not show is never recommended; a live program is spared placements that hurt it.

pub mod arms;
pub mod arrangement;
mod class_slowdowns;
pub mod decision;
pub mod follower;
pub mod outcome;
pub mod prediction;
pub mod run_subject;
pub mod thread_lifetimes;
pub mod thread_table;
pub mod window_subject;
