//! What a loop and its machine code agree on: constants, what a sweep of an operation gets, turns of two threads at one word.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::cursor::Link;
use crate::operation::Isa;
use crate::operation::Store;

/// Odd, so that the product of odd numbers never becomes 0; the latency of the multiplier does not depend on it.
pub(crate) const MULTIPLY_FACTOR: u32 = 0x9e37_79b1;

/// Where the chain of [`rotate`](crate::rotate) starts: bits whose rotations by 7 are all different.
pub(crate) const ROTATE_START: u64 = 0x0123_4567_89ab_cdef;

/// Bits of one rotation; odd, so that 64 of them pass through every rotation of the word.
pub(crate) const ROTATION_BITS: u32 = 7;

/// Odd, so that no product of a node of [`store_bypass`](crate::store_bypass) above 0 becomes 0; the latency of the multiplier does not depend on it.
pub(crate) const BYPASS_FACTOR: u32 = 0x9e37_79b1;

/// Nodes of the ring, and slots to store to: as many as a line holds.
pub(crate) const SLOTS: usize = 8;

/// What is left of a product of 32 bits to choose one of the slots.
pub(crate) const SLOT_SHIFT: u32 = u32::BITS - SLOTS.trailing_zeros();

/// Dependent loads of one round of a walk.
pub const LOADS_PER_ROUND: u64 = 64;

/// Dependent loads of one round of a walk by offsets.
pub const OFFSETS_PER_ROUND: u64 = 64;

/// Offsets of aligned words in a block of a power of two of bytes.
pub(crate) fn mask_of(block: &[u8]) -> u64 {
    (block.len() - size_of::<Link>()) as u64
}

/// Makes passes, at least one, over the arrays; its result is the checksum of a read, else 0.
///
/// # Safety
/// The CPU has the instructions; the arrays of the operation are valid, exclusive and 64-byte aligned over `bytes`
/// bytes, a positive multiple of [`ARRAY_GRANULE_BYTES`](crate::ARRAY_GRANULE_BYTES); there is at least one pass.
pub(crate) type Sweep = unsafe fn(&Operands, u64) -> u64;

/// One kernel of an operation: its instruction set, its kind of store, its code.
pub(crate) struct Variant {
    pub(crate) isa: Isa,
    pub(crate) store: Store,
    /// For blocks up to [`LARGE_ABOVE_BYTES`](crate::LARGE_ABOVE_BYTES).
    pub(crate) sweep: Sweep,
    /// For larger blocks; often the same.
    pub(crate) sweep_large: Sweep,
}

impl Variant {
    /// One loop for blocks of all sizes.
    pub(crate) const fn new(isa: Isa, store: Store, sweep: Sweep) -> Self {
        Self { isa, store, sweep, sweep_large: sweep }
    }
}

/// What a sweep gets: starts of the arrays, null where the operation has none, and the bytes of each.
pub(crate) struct Operands {
    pub(crate) a: *mut u64,
    pub(crate) b: *const u64,
    pub(crate) c: *const u64,
    pub(crate) bytes: usize,
}

/// The constant `s` of integer kernels, which is also what a write stores. STREAM 5.10 scales by 3.
pub(crate) const FACTOR_U64: u64 = 3;

/// The constant `s` of floating-point kernels, which is also what a write stores. STREAM 5.10 scales by 3.
pub(crate) static FACTOR_F64: f64 = 3.0;

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
