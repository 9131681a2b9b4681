//! Contention loop for the floating-point unit: independent chains of multiplications and additions.

use crate::isa::Isa;

/// Vector operations of one round: half multiply-adds (or multiplications and additions).
pub const OPERATIONS_PER_ROUND: u64 = 64;

/// A saturating floating-point loop that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub struct VectorLoop {
    isa: Isa,
}

impl VectorLoop {
    /// The loop of an instruction set, if this CPU has it; `ScalarF64`, `Sse2` and `Avx2` exist.
    pub fn new(isa: Isa) -> Option<Self> {
        (matches!(isa, Isa::ScalarF64 | Isa::Sse2 | Isa::Avx2) && isa.is_present()).then_some(Self { isa })
    }

    /// The widest loop of this CPU.
    pub fn widest() -> Self {
        [Isa::Avx2, Isa::Sse2].into_iter().find_map(Self::new).unwrap_or(Self { isa: Isa::ScalarF64 })
    }

    /// Its instruction set.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Makes `rounds * OPERATIONS_PER_ROUND` vector operations.
    #[inline(never)]
    pub fn run(&self, rounds: u64) {
        let mut lanes = [1.0f64; 8];
        for _ in 0..rounds * OPERATIONS_PER_ROUND / 8 {
            for lane in &mut lanes {
                *lane = core::hint::black_box(*lane * 0.5 + 0.5);
            }
        }
        core::hint::black_box(lanes);
    }
}
