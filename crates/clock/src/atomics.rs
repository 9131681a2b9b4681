//! The atomics of the slot, in one place: the model checker puts its own here.

pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
