//! Fleets: what the records of many nodes say together.
//!
//! Pure: SQL is made here and run by whoever can start DuckDB, and the tables it prints are read from any reader.
#![forbid(unsafe_code)]

pub mod check;
pub mod confirm;
pub mod export;
pub mod since;
pub mod sql;
pub mod synthetic;
