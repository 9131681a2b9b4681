//! The catalogue of bandwidth kernels: operation x instruction set x kind of store.
//!
//! The loops are those of the architecture (`arch`).

use core::fmt;

use crate::arch::stream::{add, copy, read, scale, triad, write};
use crate::arrays::Arrays;
use crate::loop_interface::{Operands, Sweep, Variant};
use crate::operation::Isa;
use crate::operation::{ELEMENT_BYTES, Operation, Store};

mod known;

pub use known::WrongElements;

/// One bandwidth kernel of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamKernel {
    /// What it does to the arrays.
    pub operation: Operation,
    /// The instructions it does it with.
    pub isa: Isa,
    /// How it writes.
    pub store: Store,
}

/// A kernel that this CPU can run: the licence to execute its instructions.
#[derive(Debug, Clone, Copy)]
pub struct StreamLoop {
    kernel: StreamKernel,
    sweep: Sweep,
    sweep_large: Sweep,
}

/// Larger blocks, all arrays together, are swept by the loop for large blocks, where there is one: above the second-level cache of any
/// x86-64 core (the largest is the 3 MiB of Lion Cove; Intel optimisation reference manual).
pub const LARGE_ABOVE_BYTES: usize = 4 << 20;

/// The loops of an operation, narrowest instruction set first.
const fn variants(operation: Operation) -> &'static [Variant] {
    match operation {
        Operation::Read => &read::VARIANTS,
        Operation::Write => &write::VARIANTS,
        Operation::Copy => &copy::VARIANTS,
        Operation::Scale => &scale::VARIANTS,
        Operation::Add => &add::VARIANTS,
        Operation::Triad => &triad::VARIANTS,
    }
}

impl StreamKernel {
    /// All kernels of this architecture, whether or not this CPU can run them, by operation, narrowest first.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |operation| {
            variants(operation).iter().map(move |&Variant { isa, store, .. }| Self { operation, isa, store })
        };
        Operation::ALL.into_iter().flat_map(of)
    }

    /// The loop of the widest instruction set of this CPU; `None` if there is no such combination.
    pub fn widest(operation: Operation, store: Store) -> Option<StreamLoop> {
        let widest_first = variants(operation).iter().rev().filter(|variant| variant.store == store);
        widest_first
            .map(|variant| Self { operation, isa: variant.isa, store })
            .find_map(|kernel| kernel.available())
    }

    /// The loop, if the combination exists and this CPU and operating system can run it.
    pub fn available(&self) -> Option<StreamLoop> {
        let variant = variants(self.operation).iter().find(|v| v.isa == self.isa && v.store == self.store)?;
        let &Variant { sweep, sweep_large, .. } = variant;
        self.isa.is_present().then_some(StreamLoop { kernel: *self, sweep, sweep_large })
    }

    /// Bytes of 8 bytes of each array as STREAM counts them: loads and stores of the program.
    pub fn counted_bytes(&self) -> u32 {
        (self.operation.array_count() * ELEMENT_BYTES) as u32
    }

    /// Bytes on the bus for one that is counted, once the arrays exceed the caches: a plain store also reads the line, for ownership, before
    /// it is written.
    pub fn bus_share(&self) -> f64 {
        let ownership_bytes = if self.store == Store::Plain { ELEMENT_BYTES as u32 } else { 0 };
        f64::from(self.counted_bytes() + ownership_bytes) / f64::from(self.counted_bytes())
    }
}

impl fmt::Display for StreamKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.operation, self.isa, self.store)
    }
}

impl StreamLoop {
    /// The kernel this is the loop of.
    pub const fn kernel(&self) -> StreamKernel {
        self.kernel
    }

    /// Makes `passes` sweeps over `arrays`. A read returns the sum of all elements it read, over all passes; the
    /// others return 0. Scalar `f64` sums doubles and returns the bits of the sum; the other reads sum `u64`, wrapping.
    ///
    /// # Panics
    /// If `arrays` has fewer arrays than the operation needs.
    pub fn run(&self, arrays: &mut Arrays<'_>, passes: u64) -> u64 {
        let needed = self.kernel.operation.array_count();
        assert!(arrays.count() >= needed, "{} needs {needed} arrays, not {}", self.kernel, arrays.count());
        if passes == 0 {
            return 0;
        }
        let [a, b, c] = arrays.starts();
        let operands = Operands { a, b, c, bytes: arrays.array_bytes() };
        let is_large = operands.bytes * needed > LARGE_ABOVE_BYTES;
        let sweep = if is_large { self.sweep_large } else { self.sweep };
        // SAFETY: `available` found the instructions; `Arrays` vouches for pointers, alignment and length.
        unsafe { sweep(&operands, passes) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrays::ARRAY_GRANULE_BYTES;

    const ELEMENTS_MAX: usize = 4 * ARRAY_GRANULE_BYTES / 8;

    #[repr(align(64))]
    #[derive(Clone)]
    struct Aligned([u64; ELEMENTS_MAX]);

    /// What a kernel must leave in `a`, and return.
    fn expected(kernel: StreamKernel, start: [&[u64]; 3], passes: u64) -> (Vec<u64>, u64) {
        if kernel.isa == Isa::ScalarU64 || kernel.operation == Operation::Read && kernel.isa != Isa::ScalarF64
        {
            let mut a = start[0].to_vec();
            let sum = known::sweep_u64(kernel.operation, &mut a, start[1], start[2]);
            return (a, sum.wrapping_mul(passes));
        }
        let [mut a, b, c] = start.map(|bits| bits.iter().copied().map(f64::from_bits).collect::<Vec<_>>());
        let sum = known::sweep_f64(kernel.operation, &mut a, &b, &c);
        let sums = f64::from_bits(sum) * passes as f64;
        (a.into_iter().map(f64::to_bits).collect(), if sum == 0 { 0 } else { sums.to_bits() })
    }

    fn check(kernel: StreamKernel, values: &[u16], granules: usize, passes: u64, is_large: bool) {
        let Some(mut stream_loop) = kernel.available() else {
            println!("skipped: {kernel}: no {} on this CPU", kernel.isa);
            return;
        };
        if is_large {
            stream_loop.sweep = stream_loop.sweep_large;
        }
        let elements = granules * ARRAY_GRANULE_BYTES / 8;
        // Small whole numbers: their sums are exact as doubles, in any order.
        let element = |array: usize, i: usize| {
            let value = values[(i * 3 + array) % values.len()];
            if kernel.isa == Isa::ScalarU64 { u64::from(value) } else { f64::from(value).to_bits() }
        };
        let mut memory = [0, 1, 2].map(|array| Aligned(core::array::from_fn(|i| element(array, i))));
        let before = memory.clone();
        let (a, checksum) =
            expected(kernel, [0, 1, 2].map(|array: usize| &before[array].0[..elements]), passes);

        let [first, second, third] = &mut memory;
        let (a0, b0, c0) = (&mut first.0[..elements], &mut second.0[..elements], &mut third.0[..elements]);
        let mut arrays = Arrays::new(a0, b0, c0);
        assert_eq!(stream_loop.run(&mut arrays, passes), checksum, "{kernel}: checksum");
        assert_eq!(stream_loop.wrong_elements(&arrays, 0..elements), None, "{kernel}");
        assert!(stream_loop.checksum(&arrays, passes).is_none_or(|sum| sum == checksum), "{kernel}");
        assert_eq!(arrays.array(0), a, "{kernel}: a");
        assert_eq!(arrays.array(1), &before[1].0[..elements], "{kernel}: b");
        assert_eq!(arrays.array(2), &before[2].0[..elements], "{kernel}: c");
        assert_eq!(memory[0].0[elements..], before[0].0[elements..], "{kernel}: beyond the end of a");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_kernel_does_what_its_naive_twin_does(
            values in prop::collection::vec(any::<u16>(), 1..200), granules in 1usize..=4, passes in 1u64..4,
            is_large: bool,
        ) {
            for kernel in StreamKernel::all() {
                check(kernel, &values, granules, passes, is_large);
            }
        }
    }

    #[test]
    fn streams_four_are_counted_as_stream_counts_them() {
        // STREAM 5.10, array `bytes[]`: 2, 2, 3, 3 words per element.
        let words =
            [(Operation::Copy, 16), (Operation::Scale, 16), (Operation::Add, 24), (Operation::Triad, 24)];
        for (operation, counted_bytes) in words {
            let kernel = |store| StreamKernel { operation, isa: Isa::ScalarF64, store };
            assert_eq!(kernel(Store::Plain).counted_bytes(), counted_bytes);
            let bus_bytes = |store| kernel(store).bus_share() * f64::from(counted_bytes);
            assert!((bus_bytes(Store::Plain) - f64::from(counted_bytes + 8)).abs() < 1e-9);
            assert!((bus_bytes(Store::NonTemporal) - f64::from(counted_bytes)).abs() < 1e-9);
        }
    }

    #[test]
    fn no_pass_touches_nothing() {
        let mut block = Aligned([7; ELEMENTS_MAX]);
        let mut arrays = Arrays::from_block(bytes_of(&mut block.0), Operation::Write);
        let write = StreamKernel::widest(Operation::Write, Store::Plain).expect("every CPU can write");
        assert_eq!(write.run(&mut arrays, 0), 0);
        assert!(block.0.iter().all(|&element| element == 7));
    }

    fn bytes_of(elements: &mut [u64]) -> &mut [u8] {
        // SAFETY: every `u64` is eight valid bytes.
        unsafe { elements.align_to_mut::<u8>() }.1
    }

    #[test]
    fn every_instruction_set_has_every_operation() {
        for operation in Operation::ALL {
            let plain = if operation.stores() { Store::Plain } else { Store::None };
            for isa in StreamKernel::all().map(|kernel| kernel.isa) {
                let kernel = StreamKernel { operation, isa, store: plain };
                assert!(StreamKernel::all().any(|other| other == kernel), "{kernel}");
            }
        }
    }

    #[test]
    fn a_combination_outside_the_catalogue_has_no_loop() {
        let kernel = StreamKernel { operation: Operation::Read, isa: Isa::ScalarU64, store: Store::Plain };
        assert!(kernel.available().is_none());
        assert!(StreamKernel::widest(Operation::Read, Store::NonTemporal).is_none());
    }
}
