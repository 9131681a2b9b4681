//! Contention loops: what two CPUs of a core share.
//!
//! Of the front end: straight-line code larger than any micro-operation cache.
//!
//! ```text
//! repeat rounds:  1024 x  xor r32,r32; mov r32,r32; pxor x,x; movaps x,x; mov r32,imm; mov r32,r32; xor r32,r32; pxor x,x
//! ```
//! Per round 8192 distinct instructions of 25 bytes per eight, 25,600 bytes in all, no load, no store: more
//! instructions than micro-operation caches hold (6,912 in AMD Zen 4, 4,096 in Zen 3 and Intel Golden Cove; AMD SOG
//! 57647 and 56665, section "Op cache"; Intel optimisation reference manual, Golden Cove), and less than the 32 KiB of
//! a first-level instruction cache. So each is fetched and decoded again in every round. Cleared registers and
//! moves between registers are dealt with when registers are renamed, so that fetch and decode are what is scarce. x86-64 only.
//!
//! Of the floating-point unit: independent multiplications and additions in twelve chains.
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

/// Bytes of code of one round.
pub const CODE_BYTES: usize = 25_600;

/// Whether this architecture has the loop.
pub const fn front_end_available() -> bool {
    arch::FRONT_END.is_some()
}

/// Runs `rounds` times through 8192 instructions of straight code and returns how often it did.
///
/// # Panics
/// Where the loop is not [`front_end_available`].
#[inline(never)]
pub fn front_end_loop(rounds: u64) -> u64 {
    let run = arch::FRONT_END.expect("callers ask whether it is available");
    if rounds == 0 { 0 } else { run(rounds) }
}

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
    fn the_loop_makes_as_many_rounds_as_it_says() {
        if !front_end_available() {
            println!("skipped: no loop for {}", std::env::consts::ARCH);
            return;
        }
        assert_eq!([0, 1, 2, 7].map(front_end_loop), [0, 1, 2, 7]);
    }

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
