//! Contention loop for the floating-point unit: independent multiplications and additions in twelve chains.
//!
//! ```text
//! SSE2:   repeat rounds:  8 x  (x0..x5 *= 1.0, x6..x11 += 0.0)                mulpd, addpd
//! AVX2:   repeat rounds:  8 x  (x0..x7 = x * 1.0 + 0.0, x8..x11 += 0.0)       vfmadd213pd, vaddpd
//! NEON:   repeat rounds:  8 x  (v0..v7 += v * 0.0, v8..v11 += 0.0)            fmla, fadd
//! ```
//! Per round 96 vector operations, no load, no store. Twelve chains cover the latency (3 to 4 cycles on Intel since
//! Skylake and on AMD Zen, A. Fog, "Instruction tables") at three operations per cycle. The values stay 1.0, so that
//! no subnormal number slows the loop.

use crate::arch;
use crate::operation::Isa;

/// A saturating floating-point loop that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub struct VectorLoop {
    rounds_of: unsafe fn(u64) -> f64,
}

impl VectorLoop {
    /// The loop of an instruction set, if it exists and this CPU has it.
    pub fn new(isa: Isa) -> Option<Self> {
        let row = arch::VECTORS.iter().find(|row| row.isa == isa && (row.is_present)())?;
        Some(Self { rounds_of: row.rounds_of })
    }

    /// The widest loop of this CPU.
    pub fn widest() -> Self {
        Isa::ALL.into_iter().rev().find_map(Self::new).expect("every architecture has one for all its CPUs")
    }

    /// Makes 96 vector operations a round and returns the sum of the first lane of all chains,
    /// which is 12.
    pub fn run(&self, rounds: u64) -> f64 {
        // SAFETY: `new` has found the instructions; at least one round is asked for.
        if rounds == 0 { 12.0 } else { unsafe { (self.rounds_of)(rounds) } }
    }
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
}
