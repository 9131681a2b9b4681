//! Probes of memory: latency surface, bandwidth, STREAM, address translation, load.

pub mod surface;
