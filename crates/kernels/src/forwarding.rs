//! Store to load forwarding through one word whose address is always known.
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

    /// The naive twin.
    fn naive(rounds: u64) -> u64 {
        (0..rounds * FORWARDS_PER_ROUND).fold(0, |value, _| (value + 1) & 0xffff)
    }

    proptest! {
        #[test]
        fn the_chain_makes_as_many_steps_as_it_says(rounds in 0u64..10_000) {
            prop_assert_eq!(forwarding_chain(rounds), naive(rounds));
        }
    }
}
