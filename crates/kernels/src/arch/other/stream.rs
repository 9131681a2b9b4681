//! Bandwidth loops where there is no assembly: what the compiler makes of the naive twins, but for sums of doubles, whose one chain of
//! additions would be measured in place of the loads.

use crate::isa::Isa;
use crate::operation::{Operation, Store};
use crate::stream_naive as naive;
use crate::stream_variant::{Operands, Variant};

/// Defines the two loops of an operation and the table of them.
macro_rules! scalar_sweeps {
    ($module:ident, $operation:expr, $store:expr) => {
        pub(crate) mod $module {
            use super::{Isa, Operands, Operation, Store, Variant, add_doubles, naive, repeat, sweep_f64};

            unsafe fn scalar_u64(operands: &Operands, passes: u64) -> u64 {
                // SAFETY: the caller's promise is the same.
                unsafe {
                    repeat::<u64>(operands, passes, u64::wrapping_add, |a, b, c| {
                        naive::sweep_u64($operation, a, b, c)
                    })
                }
            }

            unsafe fn scalar_f64(operands: &Operands, passes: u64) -> u64 {
                // SAFETY: the caller's promise is the same.
                unsafe {
                    repeat::<f64>(operands, passes, add_doubles, |a, b, c| sweep_f64($operation, a, b, c))
                }
            }

            pub(crate) const VARIANTS: [Variant; 2] = [
                Variant::new(Isa::ScalarU64, $store, scalar_u64),
                Variant::new(Isa::ScalarF64, $store, scalar_f64),
            ];
        }
    };
}

scalar_sweeps!(read, Operation::Read, Store::None);
scalar_sweeps!(write, Operation::Write, Store::Plain);
scalar_sweeps!(copy, Operation::Copy, Store::Plain);
scalar_sweeps!(scale, Operation::Scale, Store::Plain);
scalar_sweeps!(add, Operation::Add, Store::Plain);
scalar_sweeps!(triad, Operation::Triad, Store::Plain);

/// One sweep over doubles, which sums in eight chains: every array has a multiple of eight elements.
fn sweep_f64(operation: Operation, a: &mut [f64], b: &[f64], c: &[f64]) -> u64 {
    if operation != Operation::Read {
        return naive::sweep_f64(operation, a, b, c);
    }
    let mut sums = [0.0; 8];
    for eight in a.chunks_exact(sums.len()) {
        sums.iter_mut().zip(eight).for_each(|(sum, x)| *sum += x);
    }
    sums.iter().sum::<f64>().to_bits()
}

/// The bits of the sum of two doubles, given by their bits.
fn add_doubles(a: u64, b: u64) -> u64 {
    (f64::from_bits(a) + f64::from_bits(b)).to_bits()
}

/// Makes `passes` sweeps and returns their checksums, added by `sum`.
///
/// # Safety
/// The arrays that are not null are valid and exclusive for `bytes` bytes; `T` is `u64` or `f64`.
unsafe fn repeat<T>(
    operands: &Operands,
    passes: u64,
    sum: impl Fn(u64, u64) -> u64,
    mut sweep: impl FnMut(&mut [T], &[T], &[T]) -> u64,
) -> u64 {
    let elements = operands.bytes / size_of::<T>();
    let source = |start: *const u64| {
        if start.is_null() {
            return &[][..];
        }
        // SAFETY: the caller vouches for the array.
        unsafe { core::slice::from_raw_parts(start.cast::<T>(), elements) }
    };
    // SAFETY: the caller vouches for the array.
    let a = unsafe { core::slice::from_raw_parts_mut(operands.a.cast::<T>(), elements) };
    let (b, c) = (source(operands.b), source(operands.c));
    let mut checksum = 0;
    for _ in 0..passes {
        checksum = sum(checksum, sweep(core::hint::black_box(&mut *a), b, c));
    }
    checksum
}
