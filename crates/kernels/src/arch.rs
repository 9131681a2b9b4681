//! The machine code of the loops: a folder per architecture behind one interface. No other file asks which architecture this is.
//!
//! | folder | what it has |
//! |---|---|
//! | `x86_64` | every loop |
//! | `aarch64` | all but the front end, the lanes of the Mandelbrot set, and the signatures of flaws |
//!
//! A loop that an architecture lacks is `None`, or missing in a list: what the compiler makes of a black box in its place is a store
//! and a load, and measures those. There are no others: a chain in plain Rust would measure the compiler.

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the loops are written for x86-64 and arm64");

#[macro_use]
mod core_loops;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::signature;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

use core::sync::atomic::AtomicU64;

use crate::cursor::Cursor;
use crate::operation::Isa;

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

/// The loop of [`VectorLoop`](crate::VectorLoop) with some instructions.
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
