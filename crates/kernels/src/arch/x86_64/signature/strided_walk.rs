//! Dependent loads through a block in equal strides, round and round.
//!
//! ```text
//! repeat rounds:  16 x  word = [block + offset];  offset = (offset + word + stride) & mask
//!                       (mov r64, [r64 + r64]: 1 load of 8 bytes; add, add, and)
//! ```
//! Per round 16 dependent loads, no store. The words are zero, which no CPU knows before it has loaded them, and three
//! register steps stand between loads: about a nanosecond. The same memory serves all strides, as nothing is laid in it.
//! Whatever it holds, a masked offset stays inside. A stride of a page meets one page walk per load, one of a line one in
//! 64 loads.

/// Dependent loads of one round.
pub const LOADS_PER_ROUND: u64 = 16;

/// Bytes of what is loaded.
const WORD_BYTES: usize = 8;

/// Where a walk stands in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StridedWalk {
    stride_bytes: u64,
    offset: u64,
}

impl StridedWalk {
    /// At the start of a block; the stride is rounded down to whole words.
    pub fn new(stride_bytes: usize) -> Self {
        Self { stride_bytes: (stride_bytes / WORD_BYTES * WORD_BYTES) as u64, offset: 0 }
    }

    /// Where it stands, in bytes from the start of the block.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Makes `rounds * LOADS_PER_ROUND` dependent loads in the largest power of two of bytes that `block` holds.
    #[inline(never)]
    pub fn walk(&mut self, block: &[u8], rounds: u64) {
        let bytes = block.len().checked_ilog2().map_or(0, |log2| 1usize << log2);
        if rounds == 0 || bytes < WORD_BYTES {
            return;
        }
        let mask = (bytes - WORD_BYTES) as u64;
        let mut offset = self.offset & mask;
        // SAFETY: a masked offset is a multiple of 8 below the length, so that each load reads a word of the borrowed
        // block; only reads, registers are named.
        unsafe {
            core::arch::asm!(
                rounds!(
                    16,
                    "mov {word}, [{block} + {offset}]",
                    "add {offset}, {stride}",
                    "add {offset}, {word}",
                    "and {offset}, {mask}",
                ),
                word = out(reg) _,
                offset = inout(reg) offset,
                stride = in(reg) self.stride_bytes,
                block = in(reg) block.as_ptr(),
                mask = in(reg) mask,
                rounds = inout(reg) rounds => _,
                options(nostack, readonly)
            );
        }
        self.offset = offset;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin.
    fn naive(block: &[u8], stride_bytes: usize, steps: u64) -> u64 {
        let bytes = (block.len() + 1).next_power_of_two() / 2;
        (0..steps).fold(0, |offset: u64, _| {
            let word = block[offset as usize..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
            offset.wrapping_add(word).wrapping_add((stride_bytes / 8 * 8) as u64) % bytes as u64 / 8 * 8
        })
    }

    proptest! {
        #[test]
        fn a_walk_ends_where_its_twin_does_whatever_the_block_holds(
            block in proptest::collection::vec(any::<u8>(), 8..5000), stride_bytes in 0usize..9000, rounds in 0u64..9,
        ) {
            let mut walk = StridedWalk::new(stride_bytes);
            walk.walk(&block, rounds);
            prop_assert_eq!(walk.offset(), naive(&block, stride_bytes, rounds * LOADS_PER_ROUND));
        }
    }

    #[test]
    fn a_block_without_a_word_is_not_read() {
        let mut walk = StridedWalk::new(64);
        walk.walk(&[0; 7], 3);
        assert_eq!(walk.offset(), 0);
    }
}
