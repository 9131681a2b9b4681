//! The machine code of the loops: a folder per architecture behind one interface. No other file asks which architecture this is.
//!
//! | folder | what it has |
//! |---|---|
//! | `x86_64` | every loop |
//! | `aarch64` | all but the front end, the lanes of the Mandelbrot set, and the signatures of flaws |
//! | `other` | walks, sweeps and atomics in plain Rust; no loop whose time means cycles of the core |
//!
//! A loop that an architecture lacks is `None`, or missing in a list: what the compiler makes of a black box in its place is a store
//! and a load, and measures those.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[macro_use]
mod core_loops;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use other::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::signature;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

use core::sync::atomic::AtomicU64;
#[cfg(not(target_arch = "aarch64"))]
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::cursor::Cursor;
use crate::isa::Isa;
#[cfg(not(target_arch = "aarch64"))]
use crate::turn::{Turn, repeat};

/// Whether this architecture has the loops of the core: [`multiply`](crate::multiply), [`rotate`](crate::rotate),
/// [`ports`](crate::ports), [`forwarding`](crate::forwarding), [`float_divide`](crate::float_divide) and
/// [`store_bypass`](crate::store_bypass). Without them nothing is known of the core's frequency and share.
pub const fn has_core_loops() -> bool {
    CORE.multiply.is_some()
}

/// What is wrong with a caller who did not ask.
pub(crate) const MISSING: &str = "callers ask `has_core_loops`";

impl Isa {
    /// Whether this CPU executes it and the operating system saves its registers.
    pub fn is_present(self) -> bool {
        has(self)
    }

    /// The widest instruction set of this CPU.
    pub fn widest() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_present()).unwrap_or(Self::ScalarU64)
    }
}

/// Loops of the core. Each makes at least one round.
pub(crate) struct CoreLoops {
    /// The product after so many rounds of [`multiply`](crate::multiply).
    pub(crate) multiply: Option<fn(u64) -> u32>,
    /// The word after so many rounds of [`rotate`](crate::rotate).
    pub(crate) rotate: Option<fn(u64) -> u64>,
    /// The sums after so many rounds of [`ports`](crate::ports).
    pub(crate) ports: Option<fn(u64) -> [u64; 8]>,
    /// The value after so many rounds of [`forwarding`](crate::forwarding).
    pub(crate) forward: Option<fn(u64) -> u64>,
    /// The last quotient of dividend and divisor after so many rounds of [`float_divide`](crate::float_divide).
    pub(crate) divide: Option<fn([f64; 2], u64) -> f64>,
    pub(crate) bypass: Option<Bypass>,
    /// The number of rounds of [`front_end`](crate::front_end).
    pub(crate) front_end: Option<fn(u64) -> u64>,
}

/// The node after so many rounds of [`store_bypass`](crate::store_bypass), given targets, nodes below their number, a node and the
/// rounds.
type Bypass = fn(&mut [u64; 8], &[u64; 8], u64, u64) -> u64;

/// The loop of [`vector`](crate::vector) with some instructions.
pub(crate) struct Vectors {
    pub(crate) isa: Isa,
    /// Whether this CPU has them.
    pub(crate) is_present: fn() -> bool,
    /// The sum of the chains; the CPU has the instructions, and there is a round.
    pub(crate) rounds_of: unsafe fn(u64) -> f64,
}

/// Walks some cursors side by side, one register each.
///
/// # Safety
/// There are as many cursors as the place of the loop in `PARALLEL_WALKS` says, counted from 1; there is a round.
pub(crate) type ParallelWalk = unsafe fn(&mut [Cursor<'_>], u64);

/// The loop of [`atomic_add`](crate::atomic_add) with some instructions.
pub(crate) struct AtomicAdds {
    /// What they are called.
    pub(crate) name: &'static str,
    /// Whether this CPU has them.
    pub(crate) is_present: fn() -> bool,
    /// Makes so many rounds; the CPU has the instructions, and there is a round.
    pub(crate) rounds_of: unsafe fn(&AtomicU64, u64),
}

/// What is done with a read of the counter: a function that is known where it is used, so that nothing is called.
pub(crate) trait With<R> {
    /// Does it.
    fn read(self, read: impl Fn() -> u64) -> R;
}

/// Takes the word over by compare-and-swap, so many times or until `abort` is set.
#[cfg(not(target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn swaps(word: &AtomicU32, turn: Turn, rounds: u64, abort: &AtomicBool) -> u64 {
    repeat(rounds, abort, || {
        word.compare_exchange(turn.take, turn.leave, Ordering::AcqRel, Ordering::Acquire).is_ok()
    })
}

#[cfg(test)]
pub(crate) mod tests {
    /// True, and says so, where tests of loops of the core have nothing to test.
    pub(crate) fn core_loops_are_missing() -> bool {
        let has_loops = super::has_core_loops();
        if !has_loops {
            println!("skipped: no loop for {}", std::env::consts::ARCH);
        }
        !has_loops
    }
}
