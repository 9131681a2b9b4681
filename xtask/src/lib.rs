//! Development tasks behind `cargo xtask`: everything a change has to pass, and everything a release is made of.
//!
//! A library beside the binary only so that `tests/tidy.rs` can call the house rules one by one.
#![forbid(unsafe_code)]

pub mod arm64;
pub mod browser;
pub mod cargo;
pub mod command;
pub mod commands;
pub mod dist;
pub mod fleet_test;
pub mod fresh;
pub mod fuzz;
pub mod golden;
pub mod kill_toggles;
pub mod lab;
pub mod libtest;
pub mod licences;
pub mod packages;
pub mod schema;
pub mod steps;
pub mod threads;
pub mod tidy;
pub mod totals;
