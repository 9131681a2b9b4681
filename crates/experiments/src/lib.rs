//! Experiments: what differs between two configurations of a machine, and how sure that is.
//!
//! `compare` sets finished measurements side by side: records, or results imported from elsewhere. Nothing here opens
//! a file, reads a clock or asks a CPU: bytes in, documents out.
#![forbid(unsafe_code)]

pub mod compare;
