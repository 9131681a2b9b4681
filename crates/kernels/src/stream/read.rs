//! Read: sums `a`, 1 load and 8 bytes per element; 1 floating-point addition only as scalar `f64`.
//!
//! Vectors are summed as integers, one instruction with its operand in memory per load: that costs no more than the
//! bare load (206 GB/s in the L1 of a Zen 3, as with `vmovapd`), and the checksum proves that everything was read.
//! Accumulators: eight vectors, or four integer registers, which covers the latency of the addition at two to
//! three loads per cycle (Intel and AMD: 1 cycle for integers, 3 to 4 for doubles).

use super::sweep::sweep;
use super::{Isa, Store, Variant};

/// Repeats lines with `\k` = 0, ..., 7 twice, the second time on the next `$half` bytes, named `\h`.
macro_rules! sixteen_times {
    ($half:literal, $($text:expr),+) => {
        concat!(
            ".irp h,0,", $half, "\n.irp k,0,1,2,3,4,5,6,7\n", $($text,)+ "\n.endr\n.endr"
        )
    };
}

macro_rules! clear_legacy {
    () => {
        ".irp k,0,1,2,3,4,5,6,7\npxor xmm\\k, xmm\\k\n.endr"
    };
}

macro_rules! clear_vex {
    ($register:literal, $instruction:literal) => {
        concat!(
            ".irp k,0,1,2,3,4,5,6,7\n",
            $instruction,
            " ",
            $register,
            "\\k, ",
            $register,
            "\\k, ",
            $register,
            "\\k\n.endr"
        )
    };
}

macro_rules! sum_vex {
    ($register:literal) => {
        concat!(
            ".irp k,1,2,3,4,5,6,7\n",
            "vpaddq ",
            $register,
            "0, ",
            $register,
            "0, ",
            $register,
            "\\k\n.endr"
        )
    };
}

/// Sums the two halves of ymm0, then the two of xmm0, into rax.
macro_rules! fold_vex {
    () => {
        "vextracti128 xmm1, ymm0, 1\nvpaddq xmm0, xmm0, xmm1\nvpshufd xmm1, xmm0, 0x4e\n\
         vpaddq xmm0, xmm0, xmm1\nvmovq rax, xmm0\nvzeroupper"
    };
}

sweep!(
    scalar_u64,
    "sse2",
    1,
    128,
    "xor edx, edx\nxor esi, esi\nxor r8d, r8d",
    ".irp q,0,32,64,96\nadd rax, [rdi+\\q]\nadd rdx, [rdi+\\q+8]\nadd rsi, [rdi+\\q+16]\nadd r8, [rdi+\\q+24]\n.endr",
    "",
    "add rax, rdx\nadd rsi, r8\nadd rax, rsi"
);
sweep!(
    scalar_f64,
    "sse2",
    1,
    128,
    clear_legacy!(),
    sixteen_times!(64, "addsd xmm\\k, [rdi+\\h+\\k*8]"),
    "",
    ".irp k,1,2,3,4,5,6,7\naddsd xmm0, xmm\\k\n.endr\nmovq rax, xmm0"
);
sweep!(
    sse2,
    "sse2",
    1,
    256,
    clear_legacy!(),
    sixteen_times!(128, "paddq xmm\\k, [rdi+\\h+\\k*16]"),
    "",
    ".irp k,1,2,3,4,5,6,7\npaddq xmm0, xmm\\k\n.endr\npshufd xmm1, xmm0, 0x4e\npaddq xmm0, xmm1\nmovq rax, xmm0"
);
sweep!(
    avx2,
    "avx2",
    1,
    512,
    clear_vex!("ymm", "vpxor"),
    sixteen_times!(256, "vpaddq ymm\\k, ymm\\k, [rdi+\\h+\\k*32]"),
    "",
    concat!(sum_vex!("ymm"), "\n", fold_vex!())
);
sweep!(
    avx512,
    "avx512f",
    1,
    512,
    clear_vex!("zmm", "vpxorq"),
    ".irp k,0,1,2,3,4,5,6,7\nvpaddq zmm\\k, zmm\\k, [rdi+\\k*64]\n.endr",
    "",
    concat!(sum_vex!("zmm"), "\nvextracti64x4 ymm1, zmm0, 1\nvpaddq ymm0, ymm0, ymm1\n", fold_vex!())
);

pub(crate) const VARIANTS: [Variant; 5] = [
    Variant { isa: Isa::ScalarU64, store: Store::None, sweep: scalar_u64, sweep_large: scalar_u64 },
    Variant { isa: Isa::ScalarF64, store: Store::None, sweep: scalar_f64, sweep_large: scalar_f64 },
    Variant { isa: Isa::Sse2, store: Store::None, sweep: sse2, sweep_large: sse2 },
    Variant { isa: Isa::Avx2, store: Store::None, sweep: avx2, sweep_large: avx2 },
    Variant { isa: Isa::Avx512, store: Store::None, sweep: avx512, sweep_large: avx512 },
];
