//! Bandwidth loops: the frame here, `read` and `storing` give the inner instructions of each operation.
//!
//! The frame of every bandwidth loop on x86-64, written once; an operation supplies only its inner instructions.
//!
//! ```text
//! set-up (constant into vector register 15)
//! repeat passes:
//!     rdi, rsi, rdx = starts of a, b, c
//!     repeat until rdi is at the end of a:        aligned to 64 bytes
//!         8 x  load, compute, store               one granule or a divisor of it
//!         rdi, rsi, rdx += step
//!     sfence                                      non-temporal stores only
//! ```
//! Copy, scale, add and triad with plain AVX2 or AVX-512 stores have a second loop for large blocks, *paced* by 8 `nop`
//! per 32 bytes of each array. On a Zen 3 guest, loads and stores issued as fast as possible get 0.94 [0.93, 0.95] of the
//! DRAM bandwidth of `gcc -O3` (triad), whose short loop happens to be slowed down by where it starts in its 64 bytes;
//! the same loop aligned gets 0.94 as well. Paced ones, over the fast ones, 15 interleaved quads each:
//!
//! | block | copy | scale | add | triad | write |
//! |---|---|---|---|---|---|
//! | 469 MiB (DRAM) | 1.12 [1.08, 1.16] | 1.13 [1.09, 1.16] | 1.07 [1.04, 1.11] | 1.09 [1.08, 1.11] | 1.08 [1.06, 1.10] |
//! | 8 MiB (L3) | 1.07 [1.03, 1.10] | 0.97 [0.95, 1.02] | 1.01 [1.00, 1.03] | 1.01 [1.00, 1.02] | 0.74 [0.72, 0.77] |
//! | 300 KiB (L2) | 0.97 [0.91, 1.03] | 0.92 [0.89, 1.02] | 0.96 [0.92, 1.00] | 0.95 [0.92, 0.98] | 0.65 [0.62, 0.66] |
//!
//! So write stays fast: it would lose in the third-level cache, whose size is not known here. 8 to 16 `nop` are equal, 4
//! are too few. Non-temporal triad and read lose 14 and 19 % by pacing; narrower vectors are slow enough by nature.
//!
//! Also tried with AVX2 triad:
//! - Software prefetch (`prefetcht0`, `prefetchnta`, `prefetchw`, 1 to 4 KiB ahead): 5 to 20 % slower in DRAM, plain and
//!   non-temporal, as the hardware prefetcher already covers three ascending streams.
//! - Unrolling by 1, 2, 4 and 8 vectors, all loads before all stores: no difference in L2 and DRAM. In L1, 4 and 8 are
//!   ahead, and a loop of one vector changes from 245 to 149 GB/s with the address of its first byte.
//! - Fused multiply-add: see [`triad`](super::storing::triad).
//!
//! Pointers advance in place of an index, because a store with an index cannot use the store-only address port of
//! Haswell to Skylake (Intel optimisation reference manual, Haswell, "Ports 2, 3 and 7").

/// Sets the cursors of the first 1, 2 or 3 arrays to their starts.
macro_rules! rewind {
    (1) => {
        "mov rdi, r9"
    };
    (2) => {
        "mov rdi, r9\nmov rsi, r10"
    };
    (3) => {
        "mov rdi, r9\nmov rsi, r10\nmov rdx, r11"
    };
}

/// Moves the cursors of the first 1, 2 or 3 arrays on.
macro_rules! advance {
    (1, $step:literal) => {
        concat!("add rdi, ", $step)
    };
    (2, $step:literal) => {
        concat!("add rsi, ", $step, "\nadd rdi, ", $step)
    };
    (3, $step:literal) => {
        concat!("add rdx, ", $step, "\nadd rsi, ", $step, "\nadd rdi, ", $step)
    };
}

/// Repeats lines with `\k` = 0, ..., 7, once for each value of the names before them: `["s" = "movntpd"]` puts that in for `\s`.
macro_rules! eight_times {
    ([$($name:literal = $value:literal),*], $($text:expr),+) => {
        concat!(
            $(".irp ", $name, ",", $value, "\n",)*
            ".irp k,0,1,2,3,4,5,6,7\n", $($text, "\n",)+ ".endr"
            $(, end_of!($name))*
        )
    };
}

/// Ends what begins with `.irp` and that name.
macro_rules! end_of {
    ($name:literal) => {
        "\n.endr"
    };
}

/// Defines one loop as a function: `name, feature, arrays, step; setup; body; fence; finish`. The set-up may use r8, which
/// points to the constant, the body all vector registers, rax, and the cursors; what finishes leaves the checksum in rax.
macro_rules! sweep {
    ($name:ident, $feature:literal, $arrays:tt, $step:literal; $setup:expr; $body:expr; $fence:literal; $finish:expr) => {
        #[target_feature(enable = $feature)]
        unsafe fn $name(operands: &$crate::loop_interface::Operands, passes: u64) -> u64 {
            let end = operands.a.wrapping_byte_add(operands.bytes);
            let checksum: u64;
            // SAFETY: the caller vouches for the instructions, for the pointers over `bytes` bytes, a multiple of
            // `$step`, and for `passes` > 0; every register written is named as an output.
            unsafe {
                core::arch::asm!(
                    "xor eax, eax",
                    $setup,
                    "3:",
                    rewind!($arrays),
                    ".p2align 6",
                    "2:",
                    $body,
                    advance!($arrays, $step),
                    "cmp rdi, rcx",
                    "jne 2b",
                    $fence,
                    "dec r12",
                    "jnz 3b",
                    $finish,
                    in("r9") operands.a, in("rcx") end,
                    inout("r10") operands.b => _, inout("r11") operands.c => _,
                    inout("r8") &raw const $crate::loop_interface::FACTOR_F64 => _, inout("r12") passes => _,
                    out("rax") checksum, out("rdi") _, out("rsi") _, out("rdx") _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack)
                );
            }
            checksum
        }
    };
}

pub(crate) mod read;
mod storing;

pub(crate) use storing::{add, copy, scale, triad, write};
