//! Loads right behind a store that lies 4 KiB before them: equal in their low twelve address bits, yet another word.
//!
//! ```text
//! repeat rounds:  16 x  targets[node] = rounds left        (mov [r64 + r64 * 8], r64: 1 store of 8 bytes)
//!                       node = nodes[node]                 (mov r64, [r64 + r64 * 8]: 1 load of 8 bytes)
//! ```
//! Per step one store and one load that never meet. Nodes lie one page behind the targets, or one page and two lines. In
//! the first case each load equals the store before it in the low twelve bits, by which CPUs first look for a store to
//! forward from (Intel optimisation reference manual, "4-KByte Aliasing").

/// Steps of one round, each one store and one load.
pub const STEPS_PER_ROUND: u64 = 16;

/// Slots to store to, and nodes of the ring: a line each.
const SLOTS: usize = 8;
/// Words of a page.
const PAGE_WORDS: usize = 512;
/// Words of two lines.
const APART_WORDS: usize = 16;

/// Where the loads are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadOffset {
    /// One page behind the store.
    Page,
    /// One page and two lines behind the store.
    PageAndLines,
}

/// Two pages: targets at the start of the first, nodes in the second.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C, align(4096))]
pub struct AliasedLoads {
    /// Nodes are indices below [`SLOTS`], one ring through all; nothing else is loaded.
    words: [u64; 2 * PAGE_WORDS],
}

impl Default for AliasedLoads {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadOffset {
    /// The first word that is loaded.
    const fn first_word(self) -> usize {
        match self {
            Self::Page => PAGE_WORDS,
            Self::PageAndLines => PAGE_WORDS + APART_WORDS,
        }
    }
}

impl AliasedLoads {
    /// Rings in which each node leads to the one three further; nothing stored yet.
    pub fn new() -> Self {
        let mut words = [0; 2 * PAGE_WORDS];
        for first in [LoadOffset::Page.first_word(), LoadOffset::PageAndLines.first_word()] {
            for node in 0..SLOTS {
                words[first + node] = (node as u64 + 3) % SLOTS as u64;
            }
        }
        Self { words }
    }

    /// Takes `rounds * STEPS_PER_ROUND` steps from node 0 and returns the node where they end.
    #[inline(never)]
    pub fn run(&mut self, offset: LoadOffset, rounds: u64) -> u64 {
        let mut node = 0u64;
        if rounds == 0 {
            return node;
        }
        let (targets, nodes) = self.words.split_at_mut(offset.first_word());
        // SAFETY: all nodes are below 8, so that stores stay in the first line of the targets and loads in the first
        // eight nodes; both are borrowed; registers are named.
        unsafe {
            core::arch::asm!(
                rounds!(16, "mov [{targets} + {node} * 8], {rounds}", "mov {node}, [{nodes} + {node} * 8]"),
                node = inout(reg) node,
                targets = in(reg) targets.as_mut_ptr(),
                nodes = in(reg) nodes.as_ptr(),
                rounds = inout(reg) rounds => _,
                options(nostack)
            );
        }
        node
    }

    /// All that was stored.
    pub fn stored(&self) -> &[u64] {
        &self.words[..SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin.
    fn naive(rounds: u64) -> (u64, [u64; SLOTS]) {
        let (mut node, mut targets) = (0u64, [0; SLOTS]);
        for left in (1..=rounds).rev() {
            for _ in 0..STEPS_PER_ROUND {
                targets[node as usize] = left;
                node = (node + 3) % SLOTS as u64;
            }
        }
        (node, targets)
    }

    proptest! {
        #[test]
        fn the_loop_stores_and_ends_where_its_twin_does(rounds in 0u64..200) {
            for offset in [LoadOffset::Page, LoadOffset::PageAndLines] {
                let mut loads = AliasedLoads::new();
                let node = loads.run(offset, rounds);
                let (expected, stored) = naive(rounds);
                prop_assert_eq!((node, loads.stored()), (expected, &stored[..]));
            }
        }
    }

    #[test]
    fn only_one_of_the_offsets_shares_its_low_twelve_address_bits_with_the_stores() {
        let loads = AliasedLoads::new();
        let page_offset = |word: usize| (&raw const loads.words[word]).addr() % 4096;
        for slot in 0..SLOTS {
            assert_eq!(page_offset(slot), page_offset(LoadOffset::Page.first_word() + slot));
            let apart = (0..SLOTS).map(|node| page_offset(LoadOffset::PageAndLines.first_word() + node));
            assert!(apart.into_iter().all(|offset| offset != page_offset(slot)));
        }
    }
}
