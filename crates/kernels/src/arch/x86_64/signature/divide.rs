//! Dependent divisions of 128 bits by 64.
//!
//! ```text
//! repeat rounds:  16 x  high = fixed;  low = (high : low) / divisor        (mov r64, r64; div r64)
//! ```
//! Per round 16 divisions, no load, no store; the low half of each dividend is the last quotient. The high half is large,
//! so that the CPU cannot take the short way of a dividend of 64 bits, and below the divisor, so that no quotient
//! overflows. AMD's erratum 665 (family 12h) concerns this instruction.

/// Dependent divisions of one round.
pub const DIVISIONS_PER_ROUND: u64 = 16;

/// The largest prime below 2^64.
const DIVISOR: u64 = 0xffff_ffff_ffff_ffc5;

/// High half of each dividend, and the low half of the first: large, and below the divisor.
const HIGH: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes `rounds * DIVISIONS_PER_ROUND` dependent divisions and returns the last quotient.
#[inline(never)]
pub fn divide_chain(rounds: u64) -> u64 {
    let mut quotient = HIGH;
    if rounds == 0 {
        return quotient;
    }
    // SAFETY: the high half is below the divisor, so that no quotient overflows; registers only, all named.
    unsafe {
        core::arch::asm!(
            rounds!(16, "mov rdx, {high}", "div {divisor}"),
            high = in(reg) HIGH,
            divisor = in(reg) DIVISOR,
            inout("rax") quotient,
            out("rdx") _,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin.
    fn naive(divisions: u64) -> u64 {
        let divide = |low: u64, _| ((u128::from(HIGH) << 64 | u128::from(low)) / u128::from(DIVISOR)) as u64;
        (0..divisions).fold(HIGH, divide)
    }

    #[test]
    fn the_chain_ends_with_the_quotient_of_its_twin() {
        for rounds in [0, 1, 2, 33] {
            assert_eq!(divide_chain(rounds), naive(rounds * DIVISIONS_PER_ROUND), "{rounds} rounds");
        }
    }
}
