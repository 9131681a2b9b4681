//! One kernel of an operation, as an architecture has it, and what it gets.

use crate::isa::Isa;
use crate::operation::Store;

/// Makes passes, at least one, over the arrays; its result is the checksum of a read, else 0.
///
/// # Safety
/// The CPU has the instructions; the arrays of the operation are valid, exclusive and 64-byte aligned over `bytes`
/// bytes, a positive multiple of [`ARRAY_GRANULE_BYTES`](crate::ARRAY_GRANULE_BYTES); there is at least one pass.
pub(crate) type Sweep = unsafe fn(&Operands, u64) -> u64;

/// One kernel of an operation: its instruction set, its kind of store, its code.
pub(crate) struct Variant {
    pub(crate) isa: Isa,
    pub(crate) store: Store,
    /// For blocks up to [`LARGE_ABOVE_BYTES`](crate::LARGE_ABOVE_BYTES).
    pub(crate) sweep: Sweep,
    /// For larger blocks; often the same.
    pub(crate) sweep_large: Sweep,
}

impl Variant {
    /// One loop for blocks of all sizes.
    pub(crate) const fn new(isa: Isa, store: Store, sweep: Sweep) -> Self {
        Self { isa, store, sweep, sweep_large: sweep }
    }
}

/// What a sweep gets: starts of the arrays, null where the operation has none, and the bytes of each.
pub(crate) struct Operands {
    pub(crate) a: *mut u64,
    pub(crate) b: *const u64,
    pub(crate) c: *const u64,
    pub(crate) bytes: usize,
}

/// The constant `s` of integer kernels, which is also what a write stores. STREAM 5.10 scales by 3.
pub(crate) const FACTOR_U64: u64 = 3;

/// The constant `s` of floating-point kernels, which is also what a write stores. STREAM 5.10 scales by 3.
pub(crate) static FACTOR_F64: f64 = 3.0;
