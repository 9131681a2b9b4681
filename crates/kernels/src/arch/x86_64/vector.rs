//! Twelve chains of floating-point vectors.

use crate::arch::Vectors;
use crate::isa::Isa;

/// Narrowest first.
pub(crate) const VECTORS: &[Vectors] = &[
    Vectors { isa: Isa::Sse2, is_present: || true, rounds_of: sse2 },
    Vectors {
        isa: Isa::Avx2,
        is_present: || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        rounds_of: avx2,
    },
];

/// Defines one loop: the instructions that fill registers 0 to 13, those of the loop, and those that sum into
/// xmm0.
macro_rules! vector_loop {
    ($name:ident, $features:literal, $fill:expr, $body:expr, $finish:expr) => {
        /// # Safety
        /// The CPU has the instructions; `rounds` is not zero.
        #[target_feature(enable = $features)]
        unsafe fn $name(rounds: u64) -> f64 {
            let sum: f64;
            // SAFETY: registers only, all named.
            unsafe {
                core::arch::asm!(
                    $fill,
                    rounds!(8, $body),
                    $finish,
                    ".irp k,1,2,3,4,5,6,7,8,9,10,11\naddsd xmm0, xmm\\k\n.endr",
                    rounds = inout(reg) rounds => _,
                    inout("xmm12") 1.0f64 => _,
                    out("xmm0") sum, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                    out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
                    out("xmm10") _, out("xmm11") _, out("xmm13") _,
                    // vzeroupper clears the upper halves of these as well.
                    out("xmm14") _, out("xmm15") _,
                    options(nomem, nostack)
                );
            }
            sum
        }
    };
}

vector_loop!(
    sse2,
    "sse2",
    "unpcklpd xmm12, xmm12\nxorpd xmm13, xmm13\n.irp k,0,1,2,3,4,5,6,7,8,9,10,11\nmovapd xmm\\k, xmm12\n.endr",
    ".irp k,0,1,2,3,4,5\nmulpd xmm\\k, xmm12\n.endr\n.irp k,6,7,8,9,10,11\naddpd xmm\\k, xmm13\n.endr",
    ""
);
vector_loop!(
    avx2,
    "avx2,fma",
    "vbroadcastsd ymm12, xmm12\nvxorpd ymm13, ymm13, ymm13\n\
     .irp k,0,1,2,3,4,5,6,7,8,9,10,11\nvmovapd ymm\\k, ymm12\n.endr",
    ".irp k,0,1,2,3,4,5,6,7\nvfmadd213pd ymm\\k, ymm12, ymm13\n.endr\n\
     .irp k,8,9,10,11\nvaddpd ymm\\k, ymm\\k, ymm13\n.endr",
    "vzeroupper"
);
