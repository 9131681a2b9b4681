//! The loops in the assembly of x86-64.

/// Repeats instructions so many times a round, and rounds as often as the operand `rounds` says, which ends as 0. The loop begins at
/// a multiple of 64 bytes, where its place in a line costs nothing.
macro_rules! rounds {
    ($times:literal, $($line:expr),+ $(,)?) => {
        concat!(".p2align 6\n2:\n.rept ", $times, "\n", $($line, "\n",)+ ".endr\ndec {rounds}\njnz 2b")
    };
}

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

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::AtomicAdds;
use crate::cursor::Link;
use crate::isa::Isa;
use crate::turn::{Turn, repeat};

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

/// Takes the word over by compare-and-swap, so many times or until `abort` is set.
#[inline(always)]
pub(crate) fn swaps(word: &AtomicU32, turn: Turn, rounds: u64, abort: &AtomicBool) -> u64 {
    repeat(rounds, abort, || {
        word.compare_exchange(turn.take, turn.leave, Ordering::AcqRel, Ordering::Acquire).is_ok()
    })
}
