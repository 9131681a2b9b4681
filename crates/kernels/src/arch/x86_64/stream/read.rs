//! Read: sums `a`, 1 load and 8 bytes per element; 1 floating-point addition only as scalar `f64`.
//!
//! Vectors are summed as integers, one instruction with its operand in memory per load: that costs no more than the
//! bare load (206 GB/s in the L1 of a Zen 3, as with `vmovapd`), and the checksum proves that everything was read.
//! Accumulators: eight vectors, or four integer registers, which covers the latency of the addition at two to
//! three loads per cycle (Intel and AMD: 1 cycle for integers, 3 to 4 for doubles).

use crate::loop_interface::Variant;
use crate::operation::Isa;
use crate::operation::Store;

/// Sums the two halves of ymm0, then the two of xmm0, into rax.
macro_rules! fold_vex {
    () => {
        "vextracti128 xmm1, ymm0, 1\nvpaddq xmm0, xmm0, xmm1\nvpshufd xmm1, xmm0, 0x4e\n\
         vpaddq xmm0, xmm0, xmm1\nvmovq rax, xmm0\nvzeroupper"
    };
}

sweep!(scalar_u64, "sse2", 1, 128; "xor edx, edx\nxor esi, esi\nxor r8d, r8d";
    ".irp q,0,32,64,96\nadd rax, [rdi+\\q]\nadd rdx, [rdi+\\q+8]\nadd rsi, [rdi+\\q+16]\nadd r8, [rdi+\\q+24]\n.endr";
    ""; "add rax, rdx\nadd rsi, r8\nadd rax, rsi");
sweep!(scalar_f64, "sse2", 1, 128; eight_times!([], r"pxor xmm\k, xmm\k");
    eight_times!(["h" = "0,64"], r"addsd xmm\k, [rdi+\h+\k*8]");
    ""; ".irp k,1,2,3,4,5,6,7\naddsd xmm0, xmm\\k\n.endr\nmovq rax, xmm0");
sweep!(sse2, "sse2", 1, 256; eight_times!([], r"pxor xmm\k, xmm\k");
    eight_times!(["h" = "0,128"], r"paddq xmm\k, [rdi+\h+\k*16]"); "";
    ".irp k,1,2,3,4,5,6,7\npaddq xmm0, xmm\\k\n.endr\npshufd xmm1, xmm0, 0x4e\npaddq xmm0, xmm1\nmovq rax, xmm0");
sweep!(avx2, "avx2", 1, 512; eight_times!([], r"vpxor ymm\k, ymm\k, ymm\k");
    eight_times!(["h" = "0,256"], r"vpaddq ymm\k, ymm\k, [rdi+\h+\k*32]");
    ""; concat!(".irp k,1,2,3,4,5,6,7\nvpaddq ymm0, ymm0, ymm\\k\n.endr\n", fold_vex!()));
sweep!(avx512, "avx512f", 1, 512; eight_times!([], r"vpxorq zmm\k, zmm\k, zmm\k");
    eight_times!([], r"vpaddq zmm\k, zmm\k, [rdi+\k*64]"); "";
    concat!(".irp k,1,2,3,4,5,6,7\nvpaddq zmm0, zmm0, zmm\\k\n.endr\nvextracti64x4 ymm1, zmm0, 1\n",
        "vpaddq ymm0, ymm0, ymm1\n", fold_vex!()));

pub(crate) const VARIANTS: [Variant; 5] = [
    Variant::new(Isa::ScalarU64, Store::None, scalar_u64),
    Variant::new(Isa::ScalarF64, Store::None, scalar_f64),
    Variant::new(Isa::Sse2, Store::None, sse2),
    Variant::new(Isa::Avx2, Store::None, avx2),
    Variant::new(Isa::Avx512, Store::None, avx512),
];
