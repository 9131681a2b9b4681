//! The catalogue of bandwidth kernels: operation x instruction set x kind of store.

use core::fmt;

use crate::arrays::Arrays;
use crate::isa::Isa;
use crate::operation::{Accounting, Operation, Store};

pub(crate) mod naive;

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
}

/// Makes one pass over the arrays; its result is the checksum of a read, else 0.
type Sweep = unsafe fn(&Operands) -> u64;

/// What a sweep gets: starts of the arrays and the bytes of each.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Operands {
    pub(crate) a: *mut u64,
    pub(crate) b: *const u64,
    pub(crate) c: *const u64,
    pub(crate) bytes: usize,
}

/// The constant `s` of scale and triad, and what a write stores.
pub(crate) const FACTOR: u64 = 3;

const fn kernel(operation: Operation, isa: Isa, store: Store) -> StreamKernel {
    StreamKernel { operation, isa, store }
}

const CATALOGUE: [StreamKernel; 11 * 4 + 6] = {
    let stores = [Operation::Write, Operation::Copy, Operation::Scale, Operation::Add, Operation::Triad];
    let mut all = [kernel(Operation::Read, Isa::ScalarU64, Store::None); 11 * 4 + 6];
    let mut filled = 0;
    let mut isa_index = 0;
    while isa_index < Isa::ALL.len() {
        let isa = Isa::ALL[isa_index];
        all[filled] = kernel(Operation::Read, isa, Store::None);
        filled += 1;
        let mut index = 0;
        while index < stores.len() {
            all[filled] = kernel(stores[index], isa, Store::Plain);
            filled += 1;
            // There is no non-temporal store of one double in x86-64 proper.
            if !matches!(isa, Isa::ScalarF64) {
                all[filled] = kernel(stores[index], isa, Store::NonTemporal);
                filled += 1;
            }
            index += 1;
        }
        isa_index += 1;
    }
    all
};

impl StreamKernel {
    /// All kernels, whether or not this CPU can run them.
    pub fn all() -> &'static [Self] {
        &CATALOGUE
    }

    /// The kernel of the widest instruction set of this CPU; `None` if there is no such combination.
    pub fn widest(operation: Operation, store: Store) -> Option<StreamLoop> {
        let kernels = CATALOGUE.iter().rev();
        kernels.filter(|k| k.operation == operation && k.store == store).find_map(Self::available)
    }

    /// The loop, if this CPU and operating system can run it.
    pub fn available(&self) -> Option<StreamLoop> {
        let known = CATALOGUE.contains(self) && self.isa.is_present();
        known.then_some(StreamLoop { kernel: *self, sweep: naive::sweep(self.operation) })
    }

    /// Loads, stores, bytes and floating-point operations per element.
    pub const fn accounting(&self) -> Accounting {
        Accounting::of(self.operation, self.store, !matches!(self.isa, Isa::ScalarU64))
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

    /// Makes `passes` sweeps over `arrays` and returns the checksum of the last: the sum of all elements of `a`
    /// for a read, else 0.
    /// # Panics
    /// If `arrays` has fewer arrays than the operation needs.
    pub fn run(&self, arrays: &mut Arrays<'_>, passes: u64) -> u64 {
        assert!(arrays.count() >= self.kernel.operation.array_count(), "{} needs more arrays", self.kernel);
        let [a, b, c] = arrays.starts();
        let operands = Operands { a, b, c, bytes: arrays.array_bytes() };
        let mut checksum = 0;
        for _ in 0..passes {
            // SAFETY: `available` found the instructions; `Arrays` vouches for pointers, alignment and length.
            checksum = unsafe { (self.sweep)(&operands) };
        }
        checksum
    }
}
