//! Stub.
#![forbid(unsafe_code)]
