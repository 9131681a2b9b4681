//! What is planned, and names of signatures.

mod plan;
mod signatures;
