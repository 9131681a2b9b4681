//! Twelve chains of floating-point vectors.

use core::arch::asm;

use crate::arch::Vectors;
use crate::isa::Isa;

pub(crate) const VECTORS: &[Vectors] = &[Vectors { isa: Isa::Neon, is_present: || true, rounds_of: neon }];

/// At least one round. A fused multiply-add of 1.0 and 0.0 leaves its chain as it was.
fn neon(rounds: u64) -> f64 {
    let sum: f64;
    // SAFETY: registers only, all named.
    unsafe {
        asm!(
            "fmov v12.2d, #1.0\nmovi v13.2d, #0\n.irp k,0,1,2,3,4,5,6,7,8,9,10,11\nmov v\\k\\().16b, v12.16b\n.endr",
            rounds!(
                8,
                ".irp v,v0.2d,v1.2d,v2.2d,v3.2d,v4.2d,v5.2d,v6.2d,v7.2d\nfmla \\v, v12.2d, v13.2d\n.endr",
                ".irp v,v8.2d,v9.2d,v10.2d,v11.2d\nfadd \\v, \\v, v13.2d\n.endr",
            ),
            ".irp k,1,2,3,4,5,6,7,8,9,10,11\nfadd d0, d0, d\\k\n.endr",
            rounds = inout(reg) rounds => _,
            out("v0") sum, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _, out("v6") _,
            out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v11") _, out("v12") _, out("v13") _,
            options(nomem, nostack)
        );
    }
    sum
}
