//! What arrays must hold and sums must be after sweeps, by the naive twins: a result is held against other instructions than made it.

use core::ops::Range;

use super::{StreamKernel, StreamLoop};
use crate::arrays::{ARRAY_GRANULE_BYTES, Arrays};
use crate::loop_interface::{FACTOR_F64, FACTOR_U64};
use crate::operation::Isa;
use crate::operation::{ELEMENT_BYTES, Operation};

/// Elements that are computed again at once: those of a granule, of which every array has a whole number.
const AT_ONCE: usize = ARRAY_GRANULE_BYTES / ELEMENT_BYTES;

/// Elements that a sweep did not leave as it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongElements {
    /// How many.
    pub count: u64,
    /// Place of the first in its array.
    pub index: usize,
    /// The bits that must stand there.
    pub expected: u64,
    /// The bits that do.
    pub found: u64,
}

impl StreamLoop {
    /// The elements of a part of `a` that are not what a sweep of the other arrays makes of them; `None` if there are none, as after a
    /// read. The ends of the part are rounded to the granule before and after.
    pub fn wrong_elements(&self, arrays: &Arrays<'_>, part: Range<usize>) -> Option<WrongElements> {
        let operation = self.kernel.operation;
        if !operation.stores() {
            return None;
        }
        // What an operation does not load may be anything.
        let array = |index: usize| arrays.array(if index < operation.array_count() { index } else { 0 });
        let (a, b, c) = (array(0), array(1), array(2));
        let mut wrong: Option<WrongElements> = None;
        for first in (part.start / AT_ONCE * AT_ONCE..part.end.min(a.len())).step_by(AT_ONCE) {
            let part = first..first + AT_ONCE;
            let expected = self.kernel.swept(&b[part.clone()], &c[part.clone()]);
            if a[part.clone()] == expected {
                continue;
            }
            for (index, expected) in
                part.zip(expected).filter(|&(index, bits)| self.kernel.differs(bits, a[index]))
            {
                let first = WrongElements { count: 0, index, expected, found: a[index] };
                wrong.get_or_insert(first).count += 1;
            }
        }
        wrong
    }

    /// What so many passes of a read return; `None` for another operation, and for doubles, whose sum depends on the order.
    pub fn checksum(&self, arrays: &Arrays<'_>, passes: u64) -> Option<u64> {
        let is_known = self.kernel.operation == Operation::Read && self.kernel.isa != Isa::ScalarF64;
        let sum = || arrays.array(0).iter().fold(0_u64, |sum, bits| sum.wrapping_add(*bits));
        is_known.then(|| sum().wrapping_mul(passes))
    }
}

impl StreamKernel {
    /// The bits that a sweep makes of so many elements.
    fn swept(self, b: &[u64], c: &[u64]) -> [u64; AT_ONCE] {
        if self.isa == Isa::ScalarU64 {
            let mut a = [0; AT_ONCE];
            sweep_u64(self.operation, &mut a, b, c);
            return a;
        }
        let doubles =
            |bits: &[u64]| -> [f64; AT_ONCE] { core::array::from_fn(|index| f64::from_bits(bits[index])) };
        let mut a = [0.0; AT_ONCE];
        sweep_f64(self.operation, &mut a, &doubles(b), &doubles(c));
        a.map(f64::to_bits)
    }

    /// Whether bits are wrong. Which of two undefined numbers comes out is not defined.
    fn differs(self, expected: u64, found: u64) -> bool {
        let is_undefined = |bits: u64| f64::from_bits(bits).is_nan();
        let are_undefined = self.isa != Isa::ScalarU64 && is_undefined(expected) && is_undefined(found);
        expected != found && !are_undefined
    }
}

/// One sweep of `operation` over 64-bit integers, wrapping; the result is the sum of `a` for a read, else 0.
pub(super) fn sweep_u64(operation: Operation, a: &mut [u64], b: &[u64], c: &[u64]) -> u64 {
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
pub(super) fn sweep_f64(operation: Operation, a: &mut [f64], b: &[f64], c: &[f64]) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Store;

    const ELEMENTS: usize = 3 * AT_ONCE;

    #[repr(align(64))]
    struct Aligned([u64; ELEMENTS]);

    #[test]
    fn a_flipped_bit_in_any_element_is_found_with_what_must_stand_there() {
        for operation in Operation::ALL.into_iter().filter(|operation| operation.stores()) {
            let stream_loop = StreamKernel::widest(operation, Store::Plain).expect("every CPU can");
            for index in [0, 1, AT_ONCE, ELEMENTS - 1] {
                let mut memory = [2.0, 0.1, 0.7].map(|value: f64| Aligned([value.to_bits(); ELEMENTS]));
                memory[1].0[5] = f64::NAN.to_bits();
                let [a, b, c] = &mut memory;
                let mut arrays = Arrays::new(&mut a.0, &mut b.0, &mut c.0);
                stream_loop.run(&mut arrays, 1);
                assert_eq!(stream_loop.wrong_elements(&arrays, 0..ELEMENTS), None, "{operation}");
                let expected = arrays.array(0)[index];
                if f64::from_bits(expected).is_nan() {
                    continue;
                }
                arrays.array_mut(0)[index] ^= 1;
                let wrong = WrongElements { count: 1, index, expected, found: expected ^ 1 };
                assert_eq!(stream_loop.wrong_elements(&arrays, 0..ELEMENTS), Some(wrong), "{operation}");
                assert_eq!(
                    stream_loop.wrong_elements(&arrays, index + AT_ONCE..ELEMENTS),
                    None,
                    "{operation}"
                );
            }
        }
    }

    #[test]
    fn a_read_has_a_sum_unless_it_adds_doubles_and_no_other_has_one() {
        let (mut a, mut b, mut c) = (Aligned([7; ELEMENTS]), Aligned([0; ELEMENTS]), Aligned([0; ELEMENTS]));
        let arrays = Arrays::new(&mut a.0, &mut b.0, &mut c.0);
        for kernel in StreamKernel::all().filter_map(|kernel| kernel.available()) {
            let sums = kernel.kernel().operation == Operation::Read && kernel.kernel().isa != Isa::ScalarF64;
            assert_eq!(
                kernel.checksum(&arrays, 3),
                sums.then_some(3 * 7 * ELEMENTS as u64),
                "{}",
                kernel.kernel()
            );
        }
    }
}
