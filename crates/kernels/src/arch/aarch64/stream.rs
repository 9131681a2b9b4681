//! Bandwidth loops: the frame here, `read` and `storing` give the inner instructions of each operation.
//!
//! The frame of every bandwidth loop on arm64, written once; an operation supplies only its inner instructions.
//!
//! ```text
//! set-up (constant into register 16)
//! repeat passes:
//!     x0, x1, x2 = starts of a, b, c
//!     repeat until x0 is at the end of a:         aligned to 64 bytes
//!         4 x  load pairs, compute, store a pair  64 bytes of scalars, 128 of vectors: a divisor of a granule
//!         x0, x1, x2 += step
//!     dmb ishst                                   non-temporal stores only
//! ```
//! Pairs, as every core since Cortex-A53 moves two registers by one instruction, and non-temporal moves have no other form.
//! Non-temporal is a hint (DDI 0487, C3.2.4): a core may do the same as without it.

/// Defines one loop as a function: `name, arrays, step; setup; body; fence; finish`. The set-up and the body may use x4 to x16 and all
/// vector registers; what finishes leaves the checksum in x8.
macro_rules! sweep {
    (@rewind 1) => { "mov x0, {a}" };
    (@rewind 2) => { "mov x0, {a}\nmov x1, {b}" };
    (@rewind 3) => { "mov x0, {a}\nmov x1, {b}\nmov x2, {c}" };
    (@advance 1, $step:literal) => { concat!("add x0, x0, #", $step) };
    (@advance 2, $step:literal) => { concat!("add x1, x1, #", $step, "\nadd x0, x0, #", $step) };
    (@advance 3, $step:literal) => {
        concat!("add x2, x2, #", $step, "\nadd x1, x1, #", $step, "\nadd x0, x0, #", $step)
    };
    ($name:ident, $arrays:tt, $step:literal; $setup:expr; $body:expr; $fence:literal; $finish:expr) => {
        unsafe fn $name(operands: &$crate::loop_interface::Operands, passes: u64) -> u64 {
            let checksum: u64;
            // SAFETY: the caller vouches for the pointers over `bytes` bytes, a multiple of `$step`, and for `passes` > 0; every
            // register written is named as an output.
            unsafe {
                core::arch::asm!(
                    $setup,
                    "3:",
                    sweep!(@rewind $arrays),
                    ".p2align 6",
                    "2:",
                    $body,
                    sweep!(@advance $arrays, $step),
                    "cmp x0, {end}",
                    "b.ne 2b",
                    $fence,
                    "subs {passes}, {passes}, #1",
                    "b.ne 3b",
                    $finish,
                    "/* {b} {c} */",
                    a = in(reg) operands.a, b = in(reg) operands.b, c = in(reg) operands.c,
                    end = in(reg) operands.a.wrapping_byte_add(operands.bytes), passes = inout(reg) passes => _,
                    out("x0") _, out("x1") _, out("x2") _, out("x4") _, out("x5") _, out("x6") _, out("x7") _,
                    out("x8") checksum, out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _,
                    out("x14") _, out("x15") _, out("x16") _,
                    out("v4") _, out("v5") _, out("v6") _, out("v7") _, out("v8") _, out("v9") _, out("v10") _,
                    out("v11") _, out("v12") _, out("v13") _, out("v14") _, out("v15") _, out("v16") _,
                    options(nostack)
                );
            }
            checksum
        }
    };
}

/// Repeats lines with `\k` = 0, ..., 3.
macro_rules! four_times {
    ($($text:expr),+) => { concat!(".irp k,0,1,2,3\n", $($text, "\n",)+ ".endr") };
}

/// An instruction on registers 4 and 5: `register prefix, suffix, mnemonic, operands after the first`, where operands are numbers that
/// belong to 4 and those that belong to 5.
macro_rules! on_pair {
    ($prefix:literal, $suffix:literal, $mnemonic:literal, $first:literal, $second:literal) => {
        concat!(
            $mnemonic, " ", $prefix, "4", $suffix, ", ", $prefix, "4", $suffix, ", ", $prefix, $first,
            $suffix, "\n", $mnemonic, " ", $prefix, "5", $suffix, ", ", $prefix, "5", $suffix, ", ", $prefix,
            $second, $suffix
        )
    };
}

pub(crate) mod read;
mod storing;

pub(crate) use storing::{add, copy, scale, triad, write};
