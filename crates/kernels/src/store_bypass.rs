//! Loads behind stores whose address is known late: what Speculative Store Bypass is good for.
//!
//! ```text
//! repeat rounds:  16 x  late = node (32 bits);  5 x late = late * factor;  late = late >> 29
//!                       targets[late] = rounds left        (1 store of 8 bytes; its address is late)
//!                       node = nodes[node]                 (1 load of 8 bytes; the next step needs it)
//! ```
//! Per step one load and one store that never meet: nodes and targets are different lines of one block of 128 bytes, so
//! that not even the low twelve bits of their addresses are equal. A CPU that lets loads pass stores of unknown address
//! runs from load to load, 4 to 5 cycles each, and the five multiplications, one per cycle on a pipelined multiplier,
//! are done beside it. One that may not (Speculative Store Bypass Disable; Linux,
//! Documentation/userspace-api/spec_ctrl.rst) waits in each step for the address: five multiplications of 3 cycles, a
//! move, a shift and the load, above 20 cycles. The multiplications are of 32 bits, as their latency is known
//! ([`multiply`](crate::multiply)).
//!
//! Beside it: store to load forwarding through one word whose address is always known.
//!
//! ```text
//! repeat rounds:  16 x  value = value + one;  word = value;  value = low 16 bits of word
//!                       (add r64, r64; mov [m64], r64; movzx r32, m16)
//!                       (arm64: add x, x, x; str x, [m]; ldrh w, [m])
//! ```
//! Per step one store of 8 bytes and one load of 2 that depends on it, and whose result the next step needs. The load is
//! narrower than the store on purpose: where both are equal, newer cores answer the load when they rename registers
//! (seen on AMD Zen 3: 1 cycle per step instead of 7, changing from one run to the next).

use crate::arch;
use crate::loop_interface::SLOTS;

/// Steps of one round, each one load and one store.
pub const STEPS_PER_ROUND: u64 = 16;

/// The two lines of the loop, and where in the ring it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(align(128))]
pub struct StoreBypass {
    targets: [u64; SLOTS],
    /// Indices of nodes, all below `SLOTS`: one ring through all.
    nodes: [u64; SLOTS],
    /// Below `SLOTS`.
    node: u64,
}

impl Default for StoreBypass {
    fn default() -> Self {
        Self::new()
    }
}

impl StoreBypass {
    /// A ring through all nodes, each of which leads to the one three further; nothing stored yet.
    pub fn new() -> Self {
        let nodes = core::array::from_fn(|node| (node as u64 + 3) % SLOTS as u64);
        Self { targets: [0; SLOTS], nodes, node: 0 }
    }

    /// Takes `rounds * STEPS_PER_ROUND` steps on.
    #[inline(never)]
    pub fn run(&mut self, rounds: u64) {
        if rounds > 0 {
            self.node = arch::step_rounds(&mut self.targets, &self.nodes, self.node, rounds);
        }
    }
}

/// Steps of one round, each one store and one load.
pub const FORWARDS_PER_ROUND: u64 = 16;

/// Makes `rounds * FORWARDS_PER_ROUND` dependent steps through a word and returns the last value, the count modulo 2^16.
#[inline(never)]
pub fn forwarding_chain(rounds: u64) -> u64 {
    if rounds == 0 { 0 } else { arch::forward_rounds(rounds) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::loop_interface::{BYPASS_FACTOR, SLOT_SHIFT};

    /// Multiplications between a load and the address of the store behind it.
    const MULTIPLIES_PER_STEP: u32 = 5;

    /// The naive twin.
    fn naive(rounds: u64) -> (u64, [u64; SLOTS]) {
        let (mut node, mut targets) = (0u64, [0; SLOTS]);
        for left in (1..=rounds).rev() {
            for _ in 0..STEPS_PER_ROUND {
                let product = node * u64::from(BYPASS_FACTOR.wrapping_pow(MULTIPLIES_PER_STEP));
                targets[(product as u32 >> SLOT_SHIFT) as usize] = left;
                node = (node + 3) % 8;
            }
        }
        (node, targets)
    }

    proptest! {
        #[test]
        fn the_loop_stores_and_ends_where_its_twin_does(rounds in 0u64..200) {
            let mut run = StoreBypass::new();
            run.run(rounds);
            prop_assert_eq!((run.node, run.targets), naive(rounds));
        }
    }

    #[test]
    fn no_load_and_no_store_share_their_low_twelve_address_bits() {
        let run = StoreBypass::new();
        let page_offset = |word: &u64| (&raw const *word).addr() % 4096;
        for target in &run.targets {
            assert!(run.nodes.iter().all(|node| page_offset(node) != page_offset(target)));
        }
    }

    #[test]
    fn the_ring_passes_through_all_nodes() {
        let run = StoreBypass::new();
        let mut seen = [false; SLOTS];
        let mut node = 0;
        for _ in 0..SLOTS {
            seen[node] = true;
            node = run.nodes[node] as usize;
        }
        assert!(seen.into_iter().all(|seen| seen) && node == 0);
    }

    /// The naive twin.
    fn naive_forwarding(rounds: u64) -> u64 {
        (0..rounds * FORWARDS_PER_ROUND).fold(0, |value, _| (value + 1) & 0xffff)
    }

    proptest! {
        #[test]
        fn the_chain_makes_as_many_steps_as_it_says(rounds in 0u64..10_000) {
            prop_assert_eq!(forwarding_chain(rounds), naive_forwarding(rounds));
        }
    }
}
