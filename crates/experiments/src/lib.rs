//! Experiments: what differs between two configurations of a machine, and how sure that is.
//!
//! `compare` sets finished measurements side by side: records, or results imported from elsewhere. Nothing in it opens
//! a file, reads a clock or asks a CPU: bytes in, documents out. `ab` takes the measurements itself, in turns: it flips a
//! toggle, or changes programs, between trials. `clock_frequencies` holds P-states while clocks are
//! checked, `place` puts threads on CPUs and proves what that gains.
//! `bill` prices every setting at once; `history` says what is kept of earlier check-ups and what such runs can show, `guard` whether a new one is as they were,
//! `neighbours` whether others were at work beside one; all are as pure as `compare`.
#![forbid(unsafe_code)]

pub mod ab;
pub mod bill;
pub mod clock_frequencies;
pub mod compare;
pub mod guard;
pub mod history;
pub mod neighbours;
pub mod place;
pub mod program;
pub mod systemd_units;
pub mod workload;
