//! Dependent divisions of 64-bit floats: of normal numbers, or of denormal ones.
//!
//! ```text
//! repeat rounds:  16 x  dividend = last quotient & 0 | dividend;  quotient = dividend / divisor   (andpd, orpd, divsd; arm64: and, orr, fdiv)
//! ```
//! Per round 16 divisions, no load, no store. The last quotient is masked away, so that each division waits for the one
//! before and divides the same numbers. Both kinds of numbers have the same 52 bits behind the point and about the same
//! quotient, which is normal: they differ in the exponent alone, and the machine code is one and the same. What a CPU does
//! for a denormal operand shows as the difference: nothing, a step to normalise it, or an assist of microcode. Linux sets a
//! bit called `DENORM_FIX` on Zen 1 against a divider that leaves partial results (CVE-2025-54505).
//!
//! A process starts with denormal numbers in force (MXCSR without DAZ and FTZ, FPCR without FZ), and nothing here changes that.

use crate::arch;

/// Dependent divisions of one round.
pub const FLOAT_DIVISIONS_PER_ROUND: u64 = 16;

/// Which numbers are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatOperands {
    /// Both of ordinary size.
    Normal,
    /// Both below the smallest normal number, 2^-1022.
    Denormal,
}

/// Bits behind the point of dividend and divisor: full, so that no divider has an easy case.
const FRACTIONS: [u64; 2] = [0x000d_5555_5555_5555, 0x0009_2492_4924_9249];

/// The exponent of the numbers from 1 to 2, in place.
const EXPONENT_OF_ONE: u64 = 0x3ff << 52;

impl FloatOperands {
    /// Dividend and divisor.
    fn pair(self) -> [f64; 2] {
        let exponent = if self == Self::Normal { EXPONENT_OF_ONE } else { 0 };
        FRACTIONS.map(|fraction| f64::from_bits(exponent | fraction))
    }
}

/// Makes `rounds * FLOAT_DIVISIONS_PER_ROUND` dependent divisions and returns the last quotient; none gives 0.
#[inline(never)]
pub fn float_divide_chain(operands: FloatOperands, rounds: u64) -> f64 {
    if rounds == 0 { 0.0 } else { arch::divisions(operands.pair(), rounds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chain_ends_with_the_quotient_of_its_numbers() {
        for operands in [FloatOperands::Normal, FloatOperands::Denormal] {
            let [dividend, divisor] = operands.pair();
            assert_eq!(float_divide_chain(operands, 0).to_bits(), 0);
            for rounds in [1, 2, 33] {
                let quotient = float_divide_chain(operands, rounds);
                assert_eq!(quotient.to_bits(), (dividend / divisor).to_bits(), "{operands:?}");
                assert!(quotient.is_normal(), "{operands:?}: {quotient}");
            }
        }
    }

    #[test]
    fn the_numbers_are_of_the_kind_they_are_called() {
        assert!(FloatOperands::Normal.pair().iter().all(|number| number.is_normal()));
        assert!(FloatOperands::Denormal.pair().iter().all(|number| number.is_subnormal()));
    }
}
