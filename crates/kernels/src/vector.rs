//! Contention loop for the floating-point unit: independent multiplications and additions in twelve chains.
//!
//! ```text
//! SSE2:   repeat rounds:  8 x  (x0..x5 *= 1.0, x6..x11 += 0.0)                mulpd, addpd
//! AVX2:   repeat rounds:  8 x  (x0..x7 = x * 1.0 + 0.0, x8..x11 += 0.0)       vfmadd213pd, vaddpd
//! ```
//! Per round 96 vector operations, no load, no store. Twelve chains cover the latency (3 to 4 cycles on Intel since
//! Skylake and on AMD Zen, A. Fog, "Instruction tables") at three operations per cycle. The values stay 1.0, so that
//! no subnormal number slows the loop.

use crate::isa::Isa;

/// Vector operations of one round.
pub const OPERATIONS_PER_ROUND: u64 = 96;

/// A saturating floating-point loop that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub struct VectorLoop {
    isa: Isa,
    rounds_of: unsafe fn(u64) -> f64,
}

impl VectorLoop {
    /// The loop of an instruction set, if it exists and this CPU has it: on x86-64 `Sse2`, and `Avx2` with FMA;
    /// elsewhere `ScalarF64`.
    pub fn new(isa: Isa) -> Option<Self> {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Sse2 => Some(Self { isa, rounds_of: x86::sse2 }),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 if isa.is_present() && is_x86_feature_detected!("fma") => {
                Some(Self { isa, rounds_of: x86::avx2 })
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::ScalarF64 => Some(Self { isa, rounds_of: scalar }),
            _ => None,
        }
    }

    /// The widest loop of this CPU.
    pub fn widest() -> Self {
        let loops = Isa::ALL.into_iter().rev().find_map(Self::new);
        loops.expect("SSE2 is part of x86-64, and other architectures have the scalar loop")
    }

    /// Its instruction set.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Makes `rounds * OPERATIONS_PER_ROUND` vector operations and returns the sum of the first lane of all chains,
    /// which is 12.
    pub fn run(&self, rounds: u64) -> f64 {
        // SAFETY: `new` has found the instructions; at least one round is asked for.
        if rounds == 0 { 12.0 } else { unsafe { (self.rounds_of)(rounds) } }
    }
}

/// At least one round of scalar operations.
#[cfg(not(target_arch = "x86_64"))]
fn scalar(rounds: u64) -> f64 {
    let mut chains = [1.0f64; 12];
    for _ in 0..rounds * OPERATIONS_PER_ROUND / 12 {
        for chain in &mut chains {
            *chain = core::hint::black_box(*chain) * 1.0;
        }
    }
    chains.into_iter().sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    /// Defines one loop: the instructions that fill registers 0 to 13, those of the loop, and those that sum into
    /// xmm0.
    macro_rules! vector_loop {
        ($name:ident, $features:literal, $fill:expr, $body:expr, $finish:expr) => {
            /// # Safety
            /// The CPU has the instructions; `rounds` is not zero.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $name(rounds: u64) -> f64 {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chains_keep_their_value() {
        for isa in Isa::ALL {
            let Some(vector_loop) = VectorLoop::new(isa) else {
                println!("skipped: no floating-point loop for {isa} on this CPU");
                continue;
            };
            assert_eq!(
                [0, 1, 5].map(|rounds| vector_loop.run(rounds).to_bits()),
                [12f64.to_bits(); 3],
                "{isa}"
            );
        }
    }

    #[test]
    fn the_widest_loop_exists() {
        assert!(VectorLoop::widest().isa().is_present());
    }
}
