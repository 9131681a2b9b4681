//! Random numbers from the CPU: RDRAND, which waits for a buffer that all cores share.
//!
//! ```text
//! repeat rounds:  4 x  number = rdrand;  given = given + carry        (rdrand r64; adc r64, 0)
//! ```
//! Per round 4 numbers, no load, no store. Where microcode keeps the buffer from being sampled (SRBDS, CVE-2020-0543),
//! it is locked and overwritten around each read.

use core::arch::x86_64::__cpuid;

/// Numbers asked for in one round.
pub const NUMBERS_PER_ROUND: u64 = 4;

/// RDRAND is present: CPUID leaf 1, ECX bit 30. Intel SDM vol. 2A, "CPUID", table 3-10; AMD64 APM vol. 3, appendix E.
const ECX_RDRAND: u32 = 1 << 30;

/// Proof that this CPU has RDRAND.
#[derive(Debug, Clone, Copy)]
pub struct HardwareRandom(());

impl HardwareRandom {
    /// `Some` if this CPU has RDRAND.
    pub fn new() -> Option<Self> {
        (__cpuid(1).ecx & ECX_RDRAND != 0).then_some(Self(()))
    }

    /// Asks for `rounds * NUMBERS_PER_ROUND` numbers and returns how many were given.
    #[inline(never)]
    pub fn draw(self, rounds: u64) -> u64 {
        let mut given = 0u64;
        if rounds == 0 {
            return given;
        }
        // SAFETY: `new` has found the instruction; registers only, all named.
        unsafe {
            core::arch::asm!(
                rounds!(4, "rdrand {number}", "adc {given}, 0"),
                number = out(reg) _,
                given = inout(reg) given,
                rounds = inout(reg) rounds => _,
                options(nomem, nostack)
            );
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_numbers_are_given_than_asked_for_and_some_are() {
        let Some(random) = HardwareRandom::new() else {
            println!("skipped: no RDRAND on this CPU");
            return;
        };
        assert_eq!(random.draw(0), 0);
        // The CPU may refuse when it is asked faster than it can deliver, but not for ever.
        let given = random.draw(50);
        assert!((1..=50 * NUMBERS_PER_ROUND).contains(&given), "{given}");
    }
}
