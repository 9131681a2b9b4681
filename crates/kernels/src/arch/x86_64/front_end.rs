//! Straight-line code larger than any micro-operation cache.

/// The number of rounds made, of which there is at least one.
pub(super) fn rounds(rounds: u64) -> u64 {
    let mut done = 0u64;
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
