//! A pointer chase that keeps nothing borrowed between walks: its nodes hold offsets, masked to stay inside the block.
//!
//! ```text
//! repeat rounds:  64 x  offset = [block + offset];  offset = offset & mask
//!                       (mov r64, [r64 + r64]: 1 load of 8 bytes; and r64, r64; arm64: ldr, and)
//! ```
//! Per round 64 dependent loads, no store. The mask costs one core cycle per load beside [`chase`](crate::chase), and
//! for that whatever the block holds is safe to follow: a probe may own its block and its place in it together, and hand
//! the block back and forth between walks.

use crate::arch;
use crate::chain::{Chain, LINE_BYTES, LINK_BYTES, Layout};
pub use crate::loop_interface::OFFSETS_PER_ROUND;

/// Bytes whose links become offsets between two questions whether to go on.
const SLICE_BYTES: usize = 1 << 20;

/// Where a chase of offsets stands in its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetChase {
    /// A power of two, at least a line.
    bytes: usize,
    offset: u64,
}

impl OffsetChase {
    /// Lays a random cycle through all lines of the largest power of two of bytes that `block` holds, and stands at its start. It asks
    /// every few thousand lines whether to go on; `None` if it was to end before it was done.
    ///
    /// # Panics
    /// If the block does not start on a line or holds none.
    pub fn lay_while(block: &mut [u8], seed: u64, goes_on: &dyn Fn() -> bool) -> Option<Self> {
        let bytes = block.len().checked_ilog2().map_or(0, |log2| 1 << log2);
        let block = &mut block[..bytes];
        Chain::build_while(block, Layout::random(LINE_BYTES, seed), goes_on)?;
        let base = block.as_ptr().addr() as u64;
        for slice in block.chunks_mut(SLICE_BYTES) {
            if !goes_on() {
                return None;
            }
            for line in slice.chunks_exact_mut(LINE_BYTES) {
                let link = link_of(line);
                line[..LINK_BYTES].copy_from_slice(&(link - base).to_ne_bytes());
            }
        }
        Some(Self { bytes, offset: 0 })
    }

    /// Bytes of the block that the chase passes through.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it stands, in bytes from the start of the block.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Makes `rounds * OFFSETS_PER_ROUND` dependent loads in the block that it was laid in.
    #[inline(never)]
    pub fn walk(&mut self, block: &[u8], rounds: u64) {
        if rounds > 0 {
            self.offset = arch::walk_offsets(&block[..self.bytes], self.offset, rounds);
        }
    }
}

/// The first word of a line.
pub(crate) fn link_of(line: &[u8]) -> u64 {
    u64::from_ne_bytes(*line.first_chunk().expect("a line is longer than a word"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK_BYTES: usize = 64 * 67;

    #[derive(Clone)]
    #[repr(align(64))]
    struct Block([u8; BLOCK_BYTES]);

    /// The naive twin.
    fn naive(block: &[u8], bytes: usize, steps: u64) -> u64 {
        let step = |offset: u64, _| link_of(&block[offset as usize..]) % bytes as u64 / 8 * 8;
        (0..steps).fold(0, step)
    }

    proptest! {
        #[test]
        fn a_walk_ends_where_its_twin_does_whatever_the_block_holds(
            seed: u64,
            lines in 1usize..68,
            rounds in 0u64..9,
            noise: u64,
            at in 0..BLOCK_BYTES - 8,
        ) {
            let mut block = Block([0; BLOCK_BYTES]);
            let mut chase = OffsetChase::lay_while(&mut block.0[..lines * 64], seed, &|| true).expect("there is time");
            prop_assert_eq!(chase.bytes(), (lines * 64 + 1).next_power_of_two() / 2);
            block.0[at..at + 8].copy_from_slice(&noise.to_ne_bytes());
            chase.walk(&block.0, rounds);
            prop_assert_eq!(chase.offset(), naive(&block.0, chase.bytes(), rounds * OFFSETS_PER_ROUND));
        }
    }

    #[test]
    fn laying_asks_on_its_way_and_ends_when_it_may_not_go_on() {
        use core::cell::Cell;
        const BYTES: usize = 8 << 20;
        let mut memory = vec![0_u8; BYTES + LINE_BYTES];
        let from = memory.as_ptr().align_offset(LINE_BYTES);
        let asked = Cell::new(0);
        // By simulated time: each question finds one unit of it gone.
        let mut until = |end: u32| {
            asked.set(0);
            let goes_on = || {
                asked.set(asked.get() + 1);
                asked.get() < end
            };
            OffsetChase::lay_while(&mut memory[from..from + BYTES], 3, &goes_on)
        };
        let laid = until(u32::MAX).expect("there is time");
        assert_eq!(laid.bytes(), BYTES);
        let all = asked.get();
        assert!(all >= 3 * 8, "{all} questions for a chain of 8 MiB");
        for end in 1..=all {
            assert_eq!(until(end), None);
            assert_eq!(asked.get(), end, "goes on although it may not");
        }
    }

    #[test]
    fn the_cycle_passes_through_every_line_once() {
        let mut block = Block([0; BLOCK_BYTES]);
        let chase = OffsetChase::lay_while(&mut block.0, 11, &|| true).expect("there is time");
        assert_eq!(chase.bytes(), 64 * 64);
        let mut seen = [false; 64];
        let mut offset = 0;
        for _ in 0..seen.len() {
            seen[offset as usize / 64] = true;
            offset = link_of(&block.0[offset as usize..]);
        }
        assert!(offset == 0 && seen.into_iter().all(|seen| seen));
    }
}
