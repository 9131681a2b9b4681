//! Loops whose speed betrays a flaw or its workaround, each beside a loop that must not move with it.
//!
//! | what is slow with it | the loop, and its control | module |
//! |---|---|---|
//! | gathers wait for all their elements (Gather Data Sampling) | [`gather`]: eight scalar loads of the same words |
//! | jumps at the end of 32 bytes are decoded anew (Intel erratum SKX102, "JCC") | [`branch_edge`]: a `nop` there |
//! | page walks (AMD erratum 298) | [`strided_walk`]: the same walk, line by line |
//! | locked additions across two lines | [`locked_add`]: within one line |
//! | calls, on a CPU that is emulated | [`direct_calls`]: [`multiply`](crate::multiply) |
//!
//! The loop of late store addresses is [`store_bypass`](crate::store_bypass).

pub mod branch_edge;
pub mod gather;
pub mod locked_add;
pub mod strided_walk;

pub use branch_edge::{BLOCKS_PER_ROUND, EdgeInstruction, EdgeOffset, edge_loop};
pub use gather::{GATHERS_PER_ROUND, GatherLoop, GatherTable};
pub use locked_add::{LockPlace, LockedLines};
pub use strided_walk::StridedWalk;

/// Calls of one round.
pub const CALLS_PER_ROUND: u64 = 16;

/// Direct calls and their returns.
///
/// ```text
/// repeat rounds:  16 x  call there
///                       there:  done = done + 1;  return
/// ```
/// Per round 16 calls of one place: each stores its return address on the stack and loads it again.
///
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
