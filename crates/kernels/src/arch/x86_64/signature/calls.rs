//! Direct calls and their returns.
//!
//! ```text
//! repeat rounds:  16 x  call there
//!                       there:  done = done + 1;  return
//! ```
//! Per round 16 calls of one place: each stores its return address on the stack and loads it again.

/// Calls of one round.
pub const CALLS_PER_ROUND: u64 = 16;

/// Makes `rounds * CALLS_PER_ROUND` calls and returns how many arrived.
#[inline(never)]
pub fn direct_calls(rounds: u64) -> u64 {
    let mut done = 0u64;
    if rounds == 0 {
        return done;
    }
    // SAFETY: calls stay within the block and are balanced by returns; the stack is the function's, and its red zone
    // is not used as the block may push; registers are named.
    unsafe {
        core::arch::asm!(
            rounds!(16, "call 4f"),
            "jmp 5f",
            ".p2align 6",
            "4:",
            "inc {done}",
            "ret",
            "5:",
            done = inout(reg) done,
            rounds = inout(reg) rounds => _,
        );
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_arrives() {
        for rounds in [0, 1, 2, 77] {
            assert_eq!(direct_calls(rounds), rounds * CALLS_PER_ROUND);
        }
    }
}
