//! Turns of two threads at one word, and the loop that takes them.

use core::sync::atomic::{AtomicBool, Ordering};

/// Spins between two looks at the abort flag, which lives on another line.
const SPINS_PER_ABORT_CHECK: u32 = 1024;

/// The value that gives a thread its turn, and the one that gives the partner his.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) take: u32,
    pub(crate) leave: u32,
}

/// Calls `hop` until it has succeeded `rounds` times or `abort` is set; returns the successes.
#[inline(always)]
pub(crate) fn repeat(rounds: u64, abort: &AtomicBool, mut hop: impl FnMut() -> bool) -> u64 {
    for done in 0..rounds {
        let mut spins = 0u32;
        while !hop() {
            spins += 1;
            if spins == SPINS_PER_ABORT_CHECK {
                if abort.load(Ordering::Relaxed) {
                    return done;
                }
                spins = 0;
            }
        }
    }
    rounds
}
