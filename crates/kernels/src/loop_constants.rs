//! What a loop and its machine code agree on.

use crate::cursor::Link;

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
