//! Checks of a segment: VERW, which microcode may make clear buffers, and VERR, which stays what it was.
//!
//! ```text
//! repeat rounds:  8 x  zero flag = may the segment be written (verw m16) or read (verr m16)?
//! ```
//! Per round 8 loads of 2 bytes and what the CPU reads of the descriptor table, no store. The selector is that of the
//! stack segment, which can be read and written. Since 2019 microcode makes the memory form of VERW overwrite buffers in
//! which data of others may linger, where CPUID says `md_clear` (Intel, "Deep Dive: Intel Analysis of
//! Microarchitectural Data Sampling"); VERR asks the same question without it.

/// Checks of one round.
pub const CHECKS_PER_ROUND: u64 = 8;

/// Which check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SegmentCheck {
    /// VERW.
    Write,
    /// VERR.
    Read,
}

/// The selector of a segment that can be read and written: that of the stack.
#[derive(Debug, Clone, Copy)]
pub struct SegmentSelector(u16);

impl Default for SegmentSelector {
    fn default() -> Self {
        Self::of_the_stack()
    }
}

/// Runs the check `$check` at least once; the zero flag of the last one of each round is kept in `passed`.
macro_rules! check_rounds {
    ($check:literal, $selector:expr, $rounds:expr) => {{
        let passed: u8;
        // SAFETY: reads the borrowed selector only; the instructions are part of x86-64; registers are named.
        unsafe {
            core::arch::asm!(
                ".p2align 6",
                "2:",
                ".rept 8",
                concat!($check, " word ptr [{selector}]"),
                ".endr",
                "sete {passed}",
                "dec {rounds}",
                "jnz 2b",
                passed = out(reg_byte) passed,
                selector = in(reg) &raw const $selector.0,
                rounds = inout(reg) $rounds => _,
                options(nostack, readonly)
            );
        }
        passed != 0
    }};
}

impl SegmentSelector {
    /// What SS holds.
    pub fn of_the_stack() -> Self {
        let selector: u16;
        // SAFETY: reads a register.
        unsafe {
            core::arch::asm!("mov {0:x}, ss", out(reg) selector, options(nomem, nostack, preserves_flags));
        }
        Self(selector)
    }

    /// Makes `rounds * CHECKS_PER_ROUND` checks and returns whether they pass; no round passes.
    pub fn check(&self, check: SegmentCheck, rounds: u64) -> bool {
        match check {
            _ if rounds == 0 => true,
            SegmentCheck::Write => verw_rounds(self, rounds),
            SegmentCheck::Read => verr_rounds(self, rounds),
        }
    }
}

/// At least one round.
#[inline(never)]
fn verw_rounds(selector: &SegmentSelector, rounds: u64) -> bool {
    check_rounds!("verw", selector, rounds)
}

/// At least one round.
#[inline(never)]
fn verr_rounds(selector: &SegmentSelector, rounds: u64) -> bool {
    check_rounds!("verr", selector, rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_can_be_read_and_written_and_the_null_segment_cannot() {
        for check in [SegmentCheck::Write, SegmentCheck::Read] {
            for rounds in [0, 1, 5] {
                assert!(SegmentSelector::of_the_stack().check(check, rounds), "{check:?}");
                assert_eq!(SegmentSelector(0).check(check, rounds), rounds == 0, "{check:?}");
            }
        }
    }
}
