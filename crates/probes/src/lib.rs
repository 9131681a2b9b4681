//! Measurements: what is measured, in windows, on which CPU, within which time.
//!
//! | what | module |
//! |---|---|
//! | one window, one visit, what is set aside | [`sampler`] |
//! | frequency and share of the core beside every visit | [`control`] |
//! | the run: CPUs, budget, stop, progress, the record that grows | [`session`] |
//! | the check-up while it measures: its loop, what disturbed it | [`check_up`] |
//! | memory: surface, bandwidth, STREAM, translation, load | [`memory`] |
//! | questions that adjacent windows answer | `questions` |
//! | cores: control, line transfer, sharing, compute, waking | [`cores`] |
//! | price of reading time | [`clock_reads`] |
//! | whether the counters of CPUs agree | [`clock_pairs`] |
//! | what happens to clocks, for as long as one wants to know | [`clock_watch`] |
//! | samples of a millisecond, for experiments that switch something between them | [`short`] |
//! | differences planted on purpose | [`fault_injection`] |
//! | what time shows of flaws and their workarounds | [`signature`] |
//! | loops that both of these time | `timed_loop` |
//! | what one of them is, and how it is set up | [`probe`] |
//! | all visits of one number | `series` |
//! | from windows to a value and its interval | [`estimator`] |
//! | what a number is worth | `quality` |
//! | how much memory there is for a probe | `room` |
//! | two threads that meet and never wait for ever | `rendezvous` |
//! | all of them, and what fits into the time | [`plan`] |
//! | records of several processes as one | [`epochs`] |
#![forbid(unsafe_code)]

mod answers;
pub mod check_up;
pub mod clock_pairs;
pub mod clock_reads;
pub mod clock_watch;
pub mod control;
pub mod cores;
pub mod epochs;
pub mod estimator;
pub mod fault_injection;
pub mod memory;
pub mod plan;
pub mod probe;
mod quality;
mod questions;
mod rendezvous;
mod room;
pub mod sampler;
#[cfg(test)]
#[path = "../tests/replay/saved.rs"]
mod saved;
mod series;
pub mod session;
pub mod short;
pub mod signature;
mod timed_loop;
