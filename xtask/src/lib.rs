//! Development tasks behind `cargo xtask`: everything a change has to pass, and everything a release is made of.
#![forbid(unsafe_code)]

pub mod arm64;
pub mod browser;
pub mod cargo;
pub mod command;
pub mod commands;
pub mod dependencies;
pub mod dist;
pub mod fleet_test;
pub mod fresh;
pub mod fuzz;
pub mod golden;
pub mod kill_toggles;
pub mod lab;
pub mod libtest;
pub mod packages;
pub mod schema;
pub mod steps;
pub mod texts;
pub mod threads;
pub mod tidy;
pub mod totals;
