//! There and back: by an indirect call, by a direct call, by a retpoline, and by jumps without any of them.
//!
//! ```text
//! repeat rounds:  16 x  call the address in a register  |  call  |  call the thunk  |  jump
//!                       there:  done = done + 1;  return                            |  done = done + 1;  jump back
//! thunk:  call over a loop of `pause; lfence` in which speculation is caught;  replace the return address by the
//!         target;  return
//! ```
//! Per round 16 transfers to one place and back. Calls store and returns load their address on the stack, the retpoline
//! twice (P. Turner, "Retpoline: a software construct for preventing branch-target-injection", 2018). User programs pay
//! for what microcode or the compiler does to such branches; what the kernel does to its own shows in system calls.

/// Transfers of one round.
pub const CALLS_PER_ROUND: u64 = 16;

/// How control gets there and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// `call` of a register, and `ret`.
    IndirectCall,
    /// `call`, and `ret`.
    DirectCall,
    /// `call` of a retpoline, whose `ret` goes there, and `ret`.
    Retpoline,
    /// `jmp`, and `jmp` back.
    Jump,
}

/// Makes `rounds * CALLS_PER_ROUND` transfers and returns how many arrived.
pub fn call_rounds(transfer: Transfer, rounds: u64) -> u64 {
    match transfer {
        _ if rounds == 0 => 0,
        Transfer::IndirectCall => indirect_calls(rounds),
        Transfer::DirectCall => direct_calls(rounds),
        Transfer::Retpoline => retpolines(rounds),
        Transfer::Jump => jumps(rounds),
    }
}

/// Runs calls at least once; `$call` calls label 4, whose address is in `target`, and `$thunk` stands behind.
macro_rules! call_loop {
    ($call:literal, $thunk:literal, $rounds:expr) => {{
        let mut done = 0u64;
        // SAFETY: calls stay within the block and are balanced by returns; the stack is the function's, and its red zone
        // is not used as the block may push; registers are named.
        unsafe {
            core::arch::asm!(
                "lea {target}, [rip + 4f]",
                rounds!(16, $call),
                "jmp 5f",
                ".p2align 6",
                "4:",
                "inc {done}",
                "ret",
                $thunk,
                "5:",
                target = out(reg) _,
                done = inout(reg) done,
                rounds = inout(reg) $rounds => _,
            );
        }
        done
    }};
}

/// At least one round.
#[inline(never)]
fn indirect_calls(rounds: u64) -> u64 {
    call_loop!("call {target}", "", rounds)
}

/// At least one round.
#[inline(never)]
fn direct_calls(rounds: u64) -> u64 {
    call_loop!("call 4f", "", rounds)
}

/// At least one round.
#[inline(never)]
fn retpolines(rounds: u64) -> u64 {
    call_loop!(
        "call 6f",
        ".p2align 6\n6:\ncall 8f\n7:\npause\nlfence\njmp 7b\n.p2align 4\n8:\nmov [rsp], {target}\nret",
        rounds
    )
}

/// At least one round.
#[inline(never)]
fn jumps(rounds: u64) -> u64 {
    let mut done = 0u64;
    // SAFETY: jumps stay within the block; registers are named.
    unsafe {
        core::arch::asm!(
            ".p2align 6",
            "2:",
            ".irp k,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
            "jmp 4f",
            ".p2align 4",
            "3:",
            "jmp 5f",
            ".p2align 4",
            "4:",
            "inc {done}",
            "jmp 3b",
            ".p2align 4",
            "5:",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            done = inout(reg) done,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transfer_arrives() {
        for transfer in [Transfer::IndirectCall, Transfer::DirectCall, Transfer::Retpoline, Transfer::Jump] {
            for rounds in [0, 1, 2, 77] {
                assert_eq!(call_rounds(transfer, rounds), rounds * CALLS_PER_ROUND, "{transfer:?}");
            }
        }
    }
}
