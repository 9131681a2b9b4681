//! Placements of a program's threads: profiled, decided, predicted, and proven in turns against the kernel's own.
//!
//! [`roster`] knows a thread again in the next run; [`cpu_slots`] says what CPUs share; [`arrangement`] puts threads on CPUs;
//! [`decision`] finds the best such, [`prediction`] says what each should gain (by `handover_costs`, and the `kernel`s that runs agree with), [`arms`] what is tried beside it; [`follower`] makes it hold in a live process tree, and for those who come later ([`newcomers`]), and `cpu_limit` sees what it limits itself to;
//! [`run_subject`] and [`window_subject`] are what the experiment is made around, [`mod@outcome`] what it amounts to. The kernel's own placement is always
//! an arm, and what the experiment does not show is never recommended; [`early_stop`] spares a live program placements that hurt it. [`hysteresis`] says when a placement that is watched may
//! change, [`parking`] what CPUs that sleep cost, [`sweep`] at which numbers of threads placement matters.

pub mod arms;
pub mod arrangement;
mod cpu_limit;
pub mod cpu_slots;
pub mod decision;
pub mod early_stop;
pub mod follower;
mod handover_costs;
pub mod hysteresis;
mod kernel;
pub mod newcomers;
pub mod outcome;
pub mod parking;
pub mod prediction;
mod roles;
pub mod roster;
pub mod run_subject;
pub mod sweep;
pub mod thread_lifetimes;
pub mod window_subject;
