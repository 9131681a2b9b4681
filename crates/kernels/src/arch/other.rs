//! What is honest in plain Rust: volatile loads, atomics and sweeps are what they say. Chains in registers are not.

use super::{AtomicAdds, CoreLoops, ParallelWalk, Vectors};
use crate::cursor::{Cursor, Link};
use crate::isa::Isa;
use crate::loop_constants::{LOADS_PER_ROUND, OFFSETS_PER_ROUND, mask_of};
use crate::picture::{Numbers, Picture};

pub(crate) mod stream;
pub(crate) mod ticks;

pub(crate) const CORE: CoreLoops = CoreLoops {
    multiply: None,
    rotate: None,
    ports: None,
    forward: None,
    divide: None,
    bypass: None,
    front_end: None,
};
pub(crate) const VECTORS: &[Vectors] = &[];
pub(crate) const PARALLEL_WALKS: &[ParallelWalk] = &[];
pub(crate) const ATOMIC_ADDS: &[AtomicAdds] = &[];

pub(crate) fn has(isa: Isa) -> bool {
    matches!(isa, Isa::ScalarU64 | Isa::ScalarF64)
}

pub(crate) fn prefetch(_: *const Link) {}

pub(crate) fn picture_of(_: Numbers, _: Isa) -> Option<unsafe fn(Picture) -> u64> {
    None
}

/// # Safety
/// `node` is a node as [`Cursor::new`] wants it.
pub(crate) unsafe fn walk(node: *const Link, rounds: u64) -> *const Link {
    // SAFETY: the caller's promise is that of `new`.
    let start = unsafe { Cursor::new(node) };
    (0..rounds * LOADS_PER_ROUND).fold(start, |cursor, _| cursor.next()).node
}

/// The block has a power of two of bytes, at least a line.
#[expect(clippy::cast_ptr_alignment, reason = "a block starts on a line, and the mask leaves multiples of 8")]
pub(crate) fn walk_offsets(block: &[u8], mut offset: u64, rounds: u64) -> u64 {
    let mask = mask_of(block);
    for _ in 0..rounds * OFFSETS_PER_ROUND {
        let link = block.as_ptr().wrapping_add((offset & mask) as usize).cast::<u64>();
        // SAFETY: a masked offset is a multiple of 8 below the length of the borrowed block, which starts on a line.
        offset = unsafe { link.read_volatile() };
    }
    offset & mask
}
