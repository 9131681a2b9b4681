//! Control loop for the share of the core: independent integer additions that keep every integer port busy.
//!
//! ```text
//! repeat rounds:  8 x  (s0 += one, s1 += one, ..., s7 += one)        (add r64, r64; arm64: add x, x, x)
//! ```
//! Per round 64 additions in eight independent chains, no load, no store: four to six per cycle, as many as the
//! core has integer ports. A busy sibling takes up to half of them while the multiply chain stays as it was. The
//! addend is a register, as additions of constants may be folded (see [`multiply`](crate::multiply)).

use crate::arch;

/// Additions of one round.
pub const ADDS_PER_ROUND: u64 = 64;

/// Makes `rounds * ADDS_PER_ROUND` register additions of 1 in eight chains and returns the sum of the chains.
#[inline(never)]
pub fn port_loop(rounds: u64) -> u64 {
    if rounds == 0 { 0 } else { arch::add_rounds(rounds).into_iter().sum() }
}

/// What [`port_loop`] must return.
pub const fn answer(rounds: u64) -> u64 {
    rounds * ADDS_PER_ROUND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_makes_as_many_additions_as_it_says() {
        for rounds in [0, 1, 2, 3, 1000] {
            assert_eq!(port_loop(rounds), answer(rounds), "{rounds} rounds");
        }
    }
}
