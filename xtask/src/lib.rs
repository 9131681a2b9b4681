//! Development tasks behind `cargo xtask`: everything a change has to pass, and everything a release is made of.
//!
//! A library beside the binary only so that `tests/tidy.rs` can call the house rules one by one.
#![forbid(unsafe_code)]

pub mod ab_evidence;
pub mod answers_evidence;
pub mod arm64;
pub mod bench;
pub mod bench_clock;
pub mod between_runs;
pub mod bill_evidence;
pub mod browser;
pub mod cargo;
pub mod clock_evidence;
pub mod command;
pub mod commands;
pub mod dist;
pub mod estimators;
pub mod flaws_coverage;
pub mod fleet_evidence;
pub mod fleet_records;
pub mod fleet_test;
pub mod fuzz;
pub mod golden;
pub mod guard_evidence;
pub mod kill_toggles;
pub mod lab;
pub mod libtest;
pub mod licences;
pub mod links_evidence;
pub mod load;
pub mod packages;
pub mod placement_evidence;
pub mod placement_programs;
mod placement_proof;
pub mod promise;
pub mod pts_coverage;
mod records;
pub mod schema;
pub mod sharing_evidence;
pub mod sockets_evidence;
pub mod steps;
pub mod table;
pub mod tidy;
pub mod totals;
pub(crate) mod window_quantiles;
