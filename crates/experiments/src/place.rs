//! Placements of a program's threads: profiled, decided, predicted, and proven in turns against the kernel's own.
//!
//! [`thread_table`] knows a thread again in the next run; [`cpu_slots`] says what CPUs share; [`arrangement`] puts threads on CPUs;
//! [`decision`] finds the best such, [`prediction`] says what each should gain, [`arms`] what is tried beside it; [`follower`] makes it hold in a live process tree, and `cpu_limit` sees what it limits itself to;
//! [`run_subject`] and [`window_subject`] are what the experiment is made around, [`mod@outcome`] what it amounts to. The kernel's own placement is always
//! an arm, and what the experiment does not show is never recommended; [`early_stop`] spares a live program placements that hurt it.

pub mod arms;
pub mod arrangement;
mod cpu_limit;
pub mod cpu_slots;
pub mod decision;
pub mod early_stop;
pub mod follower;
pub mod outcome;
pub mod prediction;
pub mod run_subject;
pub mod thread_lifetimes;
pub mod thread_table;
pub mod window_subject;
