//! Bandwidth loops: [`sweep`] is the frame, `read` and `storing` give the inner instructions of each operation.

#[macro_use]
mod sweep;
pub(crate) mod read;
mod storing;

pub(crate) use storing::{add, copy, scale, triad, write};
