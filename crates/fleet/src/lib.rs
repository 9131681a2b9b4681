//! A fleet: where each node's record lies, and its records as rows.
//!
//! Pure: what reads and writes files, and what starts DuckDB, is in `cli`.
#![forbid(unsafe_code)]

pub mod node;
pub mod plan;
pub mod rows;
