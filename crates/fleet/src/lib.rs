//! Fleets: where each node's record lies, a record as rows, and what the records of many nodes say together.
//!
//! Pure: what reads and writes files is in `cli`.
#![forbid(unsafe_code)]

pub mod check;
pub mod confirm;
pub mod inventory;
pub mod node;
pub mod plan;
pub mod rows;
