//! Contention loop for the front end: straight-line code larger than any micro-operation cache.

/// Instructions of one round.
pub const INSTRUCTIONS_PER_ROUND: u64 = 8192;

/// Runs `rounds` times through 8192 distinct instructions.
#[inline(never)]
pub fn front_end_loop(rounds: u64) {
    for _ in 0..rounds {
        // SAFETY: no operand, no effect.
        unsafe {
            core::arch::asm!(".rept 8192", "xor eax, eax", ".endr", out("eax") _, options(nomem, nostack));
        }
    }
}
