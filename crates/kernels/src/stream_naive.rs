//! Naive twins of the bandwidth loops: plain Rust that says what they must compute, and what runs where there is no assembly.

use crate::operation::Operation;
use crate::stream_variant::{FACTOR_F64, FACTOR_U64};

/// One sweep of `operation` over 64-bit integers, wrapping; the result is the sum of `a` for a read, else 0.
pub(crate) fn sweep_u64(operation: Operation, a: &mut [u64], b: &[u64], c: &[u64]) -> u64 {
    match operation {
        Operation::Read => return a.iter().fold(0, |sum, x| sum.wrapping_add(*x)),
        Operation::Write => a.fill(FACTOR_U64),
        Operation::Copy => a.copy_from_slice(b),
        Operation::Scale => a.iter_mut().zip(b).for_each(|(a, b)| *a = b.wrapping_mul(FACTOR_U64)),
        Operation::Add => a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b.wrapping_add(*c)),
        Operation::Triad => {
            let sum = |b: &u64, c: &u64| b.wrapping_add(c.wrapping_mul(FACTOR_U64));
            a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = sum(b, c));
        }
    }
    0
}

/// One sweep of `operation` over doubles; the result is the bits of the sum of `a` for a read, else 0.
pub(crate) fn sweep_f64(operation: Operation, a: &mut [f64], b: &[f64], c: &[f64]) -> u64 {
    match operation {
        Operation::Read => return a.iter().sum::<f64>().to_bits(),
        Operation::Write => a.fill(FACTOR_F64),
        Operation::Copy => a.copy_from_slice(b),
        Operation::Scale => a.iter_mut().zip(b).for_each(|(a, b)| *a = FACTOR_F64 * b),
        Operation::Add => a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + c),
        Operation::Triad => a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + FACTOR_F64 * c),
    }
    0
}
