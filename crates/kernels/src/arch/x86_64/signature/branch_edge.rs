//! A jump that is never taken, at a chosen place of each block of 32 bytes of code; and a `nop` in its place.
//!
//! ```text
//! carry = 0
//! repeat rounds:  16 x  32 bytes of five instructions: four `nop` of 2 to 8 bytes and, at the offset,
//!                       `jc` to the next instruction (2 bytes, carry is never set) or `nop` (2 bytes)
//!                 left = left - 1 (lea);  leave if left = 0 (jrcxz);  jump back (jmp)
//! ```
//! Per round 16 blocks, no load, no store. Blocks begin on 32 bytes, so a jump at offset 30 ends on the boundary. Intel's
//! microcode of the erratum keeps blocks whose jump touches or crosses the boundary out of the cache of decoded
//! instructions (Intel, "Mitigations for Jump Conditional Code Erratum", 341810, 2019); they are decoded in every round,
//! at 16 bytes per cycle. Each block has five instructions wherever its jump stands, so that nothing but the place
//! differs. `lea` and `jrcxz` leave carry alone, and neither they nor the jump back touch a boundary.

/// Blocks of 32 bytes in one round.
pub const BLOCKS_PER_ROUND: u64 = 16;

/// Where in its block the jump or `nop` of two bytes begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeOffset {
    /// At its beginning.
    At0,
    /// Inside.
    At8,
    /// Inside.
    At16,
    /// Inside.
    At24,
    /// Its last two bytes: it ends on the boundary.
    At30,
}

/// What stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeInstruction {
    /// A conditional jump that is never taken.
    Jump,
    /// A `nop` of the same length.
    Nop,
}

impl EdgeOffset {
    /// All offsets that do not touch the boundary behind them.
    pub const INSIDE: [Self; 4] = [Self::At0, Self::At8, Self::At16, Self::At24];
}

/// `jc` to the next instruction.
macro_rules! jump {
    () => {
        ".byte 0x72, 0x00\n"
    };
}

/// `nop` of so many bytes: the forms that Intel and AMD recommend (Intel SDM vol. 2B, "NOP", table 4-12).
macro_rules! nop {
    (2) => {
        ".byte 0x66, 0x90\n"
    };
    (6) => {
        ".byte 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
    };
    (8) => {
        ".byte 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00\n"
    };
}

/// Defines the loop over one block.
macro_rules! define_loop {
    ($name:ident: $($part:expr),+) => {
        /// At least one round; returns the rounds left.
        #[inline(never)]
        fn $name(rounds: u64) -> u64 {
            let left: u64;
            // SAFETY: registers only, all named; every jump is to the next instruction or within the loop.
            unsafe {
                core::arch::asm!(
                    "clc",
                    ".p2align 6",
                    "2:",
                    ".rept 16",
                    concat!($($part),+),
                    ".endr",
                    "lea rcx, [rcx - 1]",
                    "jrcxz 3f",
                    "jmp 2b",
                    "3:",
                    inout("rcx") rounds => left,
                    options(nomem, nostack)
                );
            }
            left
        }
    };
}

define_loop!(jump_at_0: jump!(), nop!(8), nop!(8), nop!(8), nop!(6));
define_loop!(jump_at_8: nop!(8), jump!(), nop!(8), nop!(8), nop!(6));
define_loop!(jump_at_16: nop!(8), nop!(8), jump!(), nop!(8), nop!(6));
define_loop!(jump_at_24: nop!(8), nop!(8), nop!(8), jump!(), nop!(6));
define_loop!(jump_at_30: nop!(8), nop!(8), nop!(8), nop!(6), jump!());
define_loop!(nop_at_0: nop!(2), nop!(8), nop!(8), nop!(8), nop!(6));
define_loop!(nop_at_8: nop!(8), nop!(2), nop!(8), nop!(8), nop!(6));
define_loop!(nop_at_16: nop!(8), nop!(8), nop!(2), nop!(8), nop!(6));
define_loop!(nop_at_24: nop!(8), nop!(8), nop!(8), nop!(2), nop!(6));
define_loop!(nop_at_30: nop!(8), nop!(8), nop!(8), nop!(6), nop!(2));

/// Runs `rounds * BLOCKS_PER_ROUND` blocks with the instruction at the offset, and returns the rounds made.
pub fn edge_loop(instruction: EdgeInstruction, offset: EdgeOffset, rounds: u64) -> u64 {
    if rounds == 0 {
        return 0;
    }
    let run = match (instruction, offset) {
        (EdgeInstruction::Jump, EdgeOffset::At0) => jump_at_0,
        (EdgeInstruction::Jump, EdgeOffset::At8) => jump_at_8,
        (EdgeInstruction::Jump, EdgeOffset::At16) => jump_at_16,
        (EdgeInstruction::Jump, EdgeOffset::At24) => jump_at_24,
        (EdgeInstruction::Jump, EdgeOffset::At30) => jump_at_30,
        (EdgeInstruction::Nop, EdgeOffset::At0) => nop_at_0,
        (EdgeInstruction::Nop, EdgeOffset::At8) => nop_at_8,
        (EdgeInstruction::Nop, EdgeOffset::At16) => nop_at_16,
        (EdgeInstruction::Nop, EdgeOffset::At24) => nop_at_24,
        (EdgeInstruction::Nop, EdgeOffset::At30) => nop_at_30,
    };
    rounds - run(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_makes_as_many_rounds_as_it_says() {
        for instruction in [EdgeInstruction::Jump, EdgeInstruction::Nop] {
            for offset in EdgeOffset::INSIDE.into_iter().chain([EdgeOffset::At30]) {
                let made = [0, 1, 2, 77].map(|rounds| edge_loop(instruction, offset, rounds));
                assert_eq!(made, [0, 1, 2, 77], "{instruction:?} {offset:?}");
            }
        }
    }
}
