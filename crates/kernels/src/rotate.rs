//! Control loop that cross-checks [`multiply`](crate::multiply): a dependent chain of rotations by a constant.
//!
//! ```text
//! repeat rounds:  64 x  value = value rotated right by 7        (ror r64, imm8; arm64: ror x, x, imm)
//! ```
//! Per round 64 rotations, no load, no store. If time per multiplication over time per rotation is not the latency of
//! the multiplier, core cycles are unknown on this machine. The count is in the instruction and not 1: the short
//! form of a rotation by 1 takes more micro-operations on Sandy Bridge to Skylake (uops.info, `ROR_R64_I1`).

use crate::arch;
use crate::loop_interface::{ROTATE_START as START, ROTATION_BITS};

/// Dependent rotations of one round.
pub const ROTATES_PER_ROUND: u64 = 64;

/// Core cycles of one step of [`rotate_chain`], on every core that uops.info (`ROR_R64_I8`) and A. Fog's
/// "Instruction tables" list since Nehalem and K8, and of one register on arm64 ("bitfield extract, one reg" in the software
/// optimisation guide of Neoverse N1).
pub const CYCLES_PER_ROTATE: f64 = 1.0;

/// Makes `rounds * ROTATES_PER_ROUND` dependent 64-bit rotations and returns the result.
#[inline(never)]
pub fn rotate_chain(rounds: u64) -> u64 {
    if rounds == 0 { START } else { arch::rotate_rounds(rounds) }
}

/// What [`rotate_chain`] must return.
pub const fn answer(rounds: u64) -> u64 {
    let bits = rounds * ROTATES_PER_ROUND * ROTATION_BITS as u64;
    START.rotate_right((bits % u64::BITS as u64) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_makes_as_many_rotations_as_it_says() {
        // A round of 64 brings the value back; as 7 is odd, no smaller number of rotations does.
        for rounds in [0, 1, 2, 3, 17] {
            let steps = 0..rounds * ROTATES_PER_ROUND;
            let expected = steps.fold(START, |value, _| value.rotate_right(ROTATION_BITS));
            assert_eq!(rotate_chain(rounds), expected, "{rounds} rounds");
            assert_eq!(rotate_chain(rounds), answer(rounds), "{rounds} rounds");
        }
    }
}
