//! Contention loop for the front end: straight-line code larger than any micro-operation cache.
//!
//! ```text
//! repeat rounds:  1024 x  xor r32,r32; mov r32,r32; pxor x,x; movaps x,x; mov r32,imm; mov r32,r32; xor r32,r32; pxor x,x
//! ```
//! Per round 8192 distinct instructions of 25 bytes per eight, 25,600 bytes in all, no load, no store: more
//! instructions than micro-operation caches hold (6,912 in AMD Zen 4, 4,096 in Zen 3 and Intel Golden Cove; AMD SOG
//! 57647 and 56665, section "Op cache"; Intel optimisation reference manual, Golden Cove), and less than the 32 KiB of
//! a first-level instruction cache. So each is fetched and decoded again in every round. Cleared registers and
//! moves between registers are dealt with when registers are renamed, so that fetch and decode are what is scarce.

/// Bytes of code of one round.
pub const CODE_BYTES: usize = 25_600;

/// Runs `rounds` times through 8192 instructions of straight code and returns how often it did.
#[inline(never)]
pub fn front_end_loop(rounds: u64) -> u64 {
    let mut done = 0u64;
    if rounds == 0 {
        return done;
    }
    // SAFETY: registers only, all named.
    unsafe {
        core::arch::asm!(
            ".p2align 6",
            "2:",
            ".rept 1024",
            "xor eax, eax",
            "mov ecx, edx",
            "pxor xmm0, xmm0",
            "movaps xmm1, xmm2",
            "mov esi, 0x12345678",
            "mov r8d, r9d",
            "xor edi, edi",
            "pxor xmm3, xmm3",
            ".endr",
            "inc {done}",
            "cmp {done}, {rounds}",
            "jne 2b",
            done = inout(reg) done,
            rounds = in(reg) rounds,
            out("eax") _, out("ecx") _, out("edx") _, out("esi") _, out("edi") _, out("r8d") _, out("r9d") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            options(nomem, nostack)
        );
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_makes_as_many_rounds_as_it_says() {
        assert_eq!([0, 1, 2, 7].map(front_end_loop), [0, 1, 2, 7]);
    }
}
