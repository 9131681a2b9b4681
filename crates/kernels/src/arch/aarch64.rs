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
pub(crate) mod stream;
pub(crate) mod ticks;

pub(crate) use atomics::{ATOMIC_ADDS, swaps};

use core::arch::asm;

use crate::arch::{ParallelWalk, Vectors};
use crate::cursor::{Cursor, Link};
use crate::operation::Isa;
use crate::picture::{Numbers, Picture};

/// There is no loop of [`front_end_loop`](crate::front_end_loop).
pub(crate) const FRONT_END: Option<fn(u64) -> u64> = None;

/// Whether this CPU has the instructions; Linux on arm64 runs on no CPU without Advanced SIMD that Rust's target supports.
pub(crate) fn has(isa: Isa) -> bool {
    matches!(isa, Isa::ScalarU64 | Isa::ScalarF64 | Isa::Neon)
}

/// Asks for the line of a link; never faults.
pub(crate) fn prefetch(link: *const Link) {
    // SAFETY: a prefetch is a hint and may have any address.
    unsafe {
        asm!("prfm pldl1keep, [{}]", in(reg) link, options(nostack, readonly, preserves_flags));
    }
}

/// The scalar loops are all there are.
pub(crate) fn picture_of(_: Numbers, _: Isa) -> Option<unsafe fn(Picture) -> u64> {
    None
}

/// Defines loops, each over one chase more than the one before: its name, its last index and the register of that.
macro_rules! define_loops {
    ([$($index:tt $register:tt)*]) => {};
    ([$($index:tt $register:tt)*] $name:ident $last:tt $last_register:tt $($more:tt)*) => {
        /// # Safety
        /// There are as many cursors as the loop has registers; `rounds` is not zero.
        unsafe fn $name(cursors: &mut [Cursor<'_>], rounds: u64) {
            // SAFETY: every cursor stands on a node of a closed ring, so each load reads a valid word.
            unsafe {
                asm!(
                    rounds!(
                        16,
                        $(concat!("ldr ", $register, ", [", $register, "]"),)*
                        concat!("ldr ", $last_register, ", [", $last_register, "]")
                    ),
                    rounds = inout(reg) rounds => _,
                    $(inout($register) cursors[$index].node,)*
                    inout($last_register) cursors[$last].node,
                    options(nostack, readonly)
                );
            }
        }
        define_loops!([$($index $register)* $last $last_register] $($more)*);
    };
}

define_loops!([]
    walk_1 0 "x0" walk_2 1 "x1" walk_3 2 "x2" walk_4 3 "x3" walk_5 4 "x4" walk_6 5 "x5" walk_7 6 "x6" walk_8 7 "x7"
    walk_9 8 "x8" walk_10 9 "x9" walk_11 10 "x10" walk_12 11 "x11" walk_13 12 "x12" walk_14 13 "x13" walk_15 14 "x14"
    walk_16 15 "x15");

/// One for every number of chases.
pub(crate) const PARALLEL_WALKS: &[ParallelWalk] = &[
    walk_1, walk_2, walk_3, walk_4, walk_5, walk_6, walk_7, walk_8, walk_9, walk_10, walk_11, walk_12,
    walk_13, walk_14, walk_15, walk_16,
];

core_loops! {
    multiply: ["mul {product:w}, {product:w}, {factor:w}"],
    rotate: ["ror {value}, {value}, #{bits}"],
    ports: [
        "add {s0}, {s0}, {one}", "add {s1}, {s1}, {one}", "add {s2}, {s2}, {one}", "add {s3}, {s3}, {one}",
        "add {s4}, {s4}, {one}", "add {s5}, {s5}, {one}", "add {s6}, {s6}, {one}", "add {s7}, {s7}, {one}"
    ],
    forward: ["add {value}, {value}, {one}", "str {value}, [{word}]", "ldrh {value:w}, [{word}]"],
    divide in vreg: [
        "and {quotient:v}.8b, {quotient:v}.8b, {zero:v}.8b",
        "orr {quotient:v}.8b, {quotient:v}.8b, {dividend:v}.8b",
        "fdiv {quotient:d}, {quotient:d}, {divisor:d}"
    ],
    bypass: [
        "mov {late:w}, {node:w}",
        ".rept 5",
        "mul {late:w}, {late:w}, {factor:w}",
        ".endr",
        "lsr {late:w}, {late:w}, #{shift}",
        "str {rounds}, [{targets}, {late}, lsl #3]",
        "ldr {node}, [{nodes}, {node}, lsl #3]"
    ],
    walk: ["ldr {node}, [{node}]"],
    walk_offsets: ["ldr {offset}, [{block}, {offset}]", "and {offset}, {offset}, {mask}"],
}

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
