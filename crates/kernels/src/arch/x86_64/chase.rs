//! Chases side by side, in registers of their own.

use crate::arch::ParallelWalk;
use crate::cursor::Cursor;

/// Defines the loop over the given chases, each an index and its register.
macro_rules! define_loop {
    ($name:ident: $($index:literal $register:tt),+) => {
        /// # Safety
        /// There are as many cursors as the loop has registers; `rounds` is not zero.
        unsafe fn $name(cursors: &mut [Cursor<'_>], rounds: u64) {
            // SAFETY: every cursor stands on a node of a closed ring, so each load reads a valid word.
            unsafe {
                core::arch::asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 16",
                    $(concat!("mov ", $register, ", [", $register, "]"),)+
                    ".endr",
                    "dec r15",
                    "jnz 2b",
                    $(inout($register) cursors[$index].node,)+
                    inout("r15") rounds => _,
                    options(nostack, readonly)
                );
            }
        }
    };
}

define_loop!(walk_1: 0 "rax");
define_loop!(walk_2: 0 "rax", 1 "rcx");
define_loop!(walk_3: 0 "rax", 1 "rcx", 2 "rdx");
define_loop!(walk_4: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi");
define_loop!(walk_5: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi");
define_loop!(walk_6: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8");
define_loop!(walk_7: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9");
define_loop!(walk_8: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10");
define_loop!(walk_9: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11");
define_loop!(walk_10: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12");
define_loop!(walk_11: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13");
define_loop!(walk_12: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13", 11 "r14");

/// One for each register that can hold a chase: all but the stack pointer, rbx and rbp, which the compiler keeps for itself, and
/// r15, which counts the rounds.
pub(crate) const PARALLEL_WALKS: &[ParallelWalk] =
    &[walk_1, walk_2, walk_3, walk_4, walk_5, walk_6, walk_7, walk_8, walk_9, walk_10, walk_11, walk_12];
