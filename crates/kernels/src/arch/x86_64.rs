//! The loops in the assembly of x86-64.

#[macro_use]
mod rounds;

mod chase;
mod core_loops;
mod front_end;
mod mandelbrot;
pub mod signature;
pub(crate) mod stream;
pub(crate) mod ticks;
mod vector;

pub(crate) use chase::PARALLEL_WALKS;
pub(crate) use core_loops::{
    add_rounds, divisions, forward_rounds, multiply_rounds, rotate_rounds, step_rounds, walk, walk_offsets,
};
pub(crate) use mandelbrot::picture_of;
pub(crate) use vector::VECTORS;

use super::AtomicAdds;
use crate::cursor::Link;
use crate::isa::Isa;

/// The number of rounds of [`front_end`](crate::front_end).
pub(crate) const FRONT_END: Option<fn(u64) -> u64> = Some(front_end::rounds);

/// One instruction whatever the CPU: there is nothing to compare.
pub(crate) const ATOMIC_ADDS: &[AtomicAdds] = &[];

/// Whether this CPU has the instructions and the operating system saves their registers.
pub(crate) fn has(isa: Isa) -> bool {
    match isa {
        Isa::ScalarU64 | Isa::ScalarF64 | Isa::Sse2 => true,
        Isa::Avx2 => is_x86_feature_detected!("avx2"),
        Isa::Avx512 => is_x86_feature_detected!("avx512f"),
        Isa::Neon => false,
    }
}

/// Asks for the line of a link; never faults.
pub(crate) fn prefetch(link: *const Link) {
    // SAFETY: a prefetch is a hint and may have any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(link.cast());
    }
}
