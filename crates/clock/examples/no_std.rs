//! The slot and its arithmetic without the standard library: what a kernel or a hypervisor takes to publish time.
#![no_std]

mod atomics {
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}
#[path = "../src/discipline.rs"]
pub mod discipline;
#[path = "../src/slot.rs"]
pub mod slot;

use discipline::{Bracket, Discipline, Policy};
use slot::Slot;

/// A slot, and the discipline that fills it after one look at both clocks.
pub fn begun(policy: Policy, look: Bracket) -> (Slot, Discipline) {
    let mut discipline = Discipline::new(policy);
    discipline.see(look);
    (Slot::new(), discipline)
}
