//! The loops in the assembly of arm64: those of x86-64, instruction by instruction, where there is one for the other.
//!
//! Sources: Arm Architecture Reference Manual for A-profile (DDI 0487), chapters C3 and C6. The front end has no loop, as no size of a
//! cache of operations is given for most cores; the Mandelbrot set is computed by the scalar loops.

/// Repeats instructions so many times a round, and rounds as often as the operand `rounds` says, which ends as 0. The loop begins at
/// a multiple of 64 bytes, where its place in a line costs nothing.
macro_rules! rounds {
    ($times:literal, $($line:expr),+ $(,)?) => {
        concat!(
            ".p2align 6\n2:\n.rept ", $times, "\n", $($line, "\n",)+
            ".endr\nsubs {rounds}, {rounds}, #1\nb.ne 2b"
        )
    };
}

mod atomics;
mod chase;
mod core_loops;
pub(crate) mod stream;
pub(crate) mod ticks;
mod vector;

pub(crate) use atomics::{ATOMIC_ADDS, swaps};
pub(crate) use chase::PARALLEL_WALKS;
pub(crate) use core_loops::{
    add_rounds, divisions, forward_rounds, multiply_rounds, rotate_rounds, step_rounds, walk, walk_offsets,
};
pub(crate) use vector::VECTORS;

use crate::cursor::Link;
use crate::isa::Isa;
use crate::picture::{Numbers, Picture};

/// There is no loop of [`front_end`](crate::front_end).
pub(crate) const FRONT_END: Option<fn(u64) -> u64> = None;

/// Whether this CPU has the instructions; Linux on arm64 runs on no CPU without Advanced SIMD that Rust's target supports.
pub(crate) fn has(isa: Isa) -> bool {
    matches!(isa, Isa::ScalarU64 | Isa::ScalarF64 | Isa::Neon)
}

/// Asks for the line of a link; never faults.
pub(crate) fn prefetch(link: *const Link) {
    // SAFETY: a prefetch is a hint and may have any address.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) link, options(nostack, readonly, preserves_flags));
    }
}

/// The scalar loops are all there are.
pub(crate) fn picture_of(_: Numbers, _: Isa) -> Option<unsafe fn(Picture) -> u64> {
    None
}
