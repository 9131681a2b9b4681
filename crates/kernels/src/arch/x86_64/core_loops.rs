//! Chains in registers, and through a word or two of memory.

use core::arch::asm;

use super::front_end;
use crate::arch::CoreLoops;
use crate::rotate::ROTATION_BITS;
use crate::store_bypass::{self, SLOT_SHIFT};
use crate::{multiply, rotate};

pub(crate) const CORE: CoreLoops = CoreLoops {
    multiply: Some(multiply_rounds),
    rotate: Some(rotate_rounds),
    ports: Some(add_rounds),
    forward: Some(forward_rounds),
    divide: Some(divisions),
    bypass: Some(step_rounds),
    front_end: Some(front_end::rounds),
};

fn multiply_rounds(rounds: u64) -> u32 {
    let mut product = multiply::FACTOR;
    // SAFETY: registers only, all named.
    unsafe {
        asm!(
            rounds!(64, "imul {product:e}, {factor:e}"),
            product = inout(reg) product,
            factor = in(reg) multiply::FACTOR,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    product
}

fn rotate_rounds(rounds: u64) -> u64 {
    let mut value = rotate::START;
    // SAFETY: registers only, all named.
    unsafe {
        asm!(
            rounds!(64, "ror {value}, {bits}"),
            value = inout(reg) value,
            rounds = inout(reg) rounds => _,
            bits = const ROTATION_BITS,
            options(nomem, nostack)
        );
    }
    value
}

fn add_rounds(rounds: u64) -> [u64; 8] {
    let mut sums = [0u64; 8];
    let [s0, s1, s2, s3, s4, s5, s6, s7] = &mut sums;
    // SAFETY: registers only, all named.
    unsafe {
        asm!(
            rounds!(
                8,
                "add {s0}, {one}", "add {s1}, {one}", "add {s2}, {one}", "add {s3}, {one}",
                "add {s4}, {one}", "add {s5}, {one}", "add {s6}, {one}", "add {s7}, {one}",
            ),
            s0 = inout(reg) *s0, s1 = inout(reg) *s1, s2 = inout(reg) *s2, s3 = inout(reg) *s3,
            s4 = inout(reg) *s4, s5 = inout(reg) *s5, s6 = inout(reg) *s6, s7 = inout(reg) *s7,
            one = in(reg) 1u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    sums
}

fn forward_rounds(rounds: u64) -> u64 {
    let (mut word, mut value) = (0u64, 0u64);
    // SAFETY: the only address is that of `word`, a local of 8 bytes; registers are named.
    unsafe {
        asm!(
            rounds!(
                16,
                "add {value}, {one}",
                "mov qword ptr [{word}], {value}",
                "movzx {value:e}, word ptr [{word}]",
            ),
            value = inout(reg) value,
            one = in(reg) 1u64,
            word = in(reg) &raw mut word,
            rounds = inout(reg) rounds => _,
            options(nostack)
        );
    }
    value
}

#[inline(always)]
fn divisions([dividend, divisor]: [f64; 2], rounds: u64) -> f64 {
    let mut quotient = 0.0_f64;
    // SAFETY: registers only, all named; SSE2 is part of x86-64.
    unsafe {
        asm!(
            rounds!(
                16,
                "andpd {quotient}, {zero}",
                "orpd {quotient}, {dividend}",
                "divsd {quotient}, {divisor}",
            ),
            quotient = inout(xmm_reg) quotient,
            zero = in(xmm_reg) 0.0_f64,
            dividend = in(xmm_reg) dividend,
            divisor = in(xmm_reg) divisor,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack)
        );
    }
    quotient
}

fn step_rounds(targets: &mut [u64; 8], nodes: &[u64; 8], mut node: u64, rounds: u64) -> u64 {
    // SAFETY: a product of 32 bits shifted by 29 is below 8, as are all nodes, so that loads and stores stay inside the
    // two arrays, which are borrowed; registers are named.
    unsafe {
        asm!(
            rounds!(
                16,
                "mov {late:e}, {node:e}",
                ".rept 5",
                "imul {late:e}, {factor:e}",
                ".endr",
                "shr {late:e}, {shift}",
                "mov [{targets} + {late} * 8], {rounds}",
                "mov {node}, [{nodes} + {node} * 8]",
            ),
            node = inout(reg) node,
            late = out(reg) _,
            factor = in(reg) store_bypass::FACTOR,
            targets = in(reg) targets.as_mut_ptr(),
            nodes = in(reg) nodes.as_ptr(),
            rounds = inout(reg) rounds => _,
            shift = const SLOT_SHIFT,
            options(nostack)
        );
    }
    node
}
