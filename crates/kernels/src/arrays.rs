//! The arrays a bandwidth kernel sweeps over: borrowed memory, checked once for shape and alignment.

use core::marker::PhantomData;

use crate::operation::{ELEMENT_BYTES, Operation};

/// Alignment of every array, in bytes: the widest vector (AVX-512). It is the format of the loops, whatever the machine's line is.
const ARRAY_ALIGN_BYTES: usize = 64;

/// The length of every array is a multiple of this many bytes: no kernel moves more of one array per iteration,
/// so that none needs a remainder loop.
pub const ARRAY_GRANULE_BYTES: usize = 512;

/// Value of every element of `a`, `b` and `c` after [`Arrays::fill`]; STREAM 5.10 starts with 1, 2 and 0.
const FIRST_VALUES: [f64; 3] = [1.0, 2.0, 0.0];

/// One, two or three arrays of equal length, 64-byte aligned; elements are `u64` or `f64` as the kernel takes them.
#[derive(Debug)]
pub struct Arrays<'a> {
    /// Starts of `a`, `b` and `c`; the first `count` are valid for `bytes` bytes of exclusive access during `'a`.
    starts: [*mut u64; 3],
    count: usize,
    bytes: usize,
    memory: PhantomData<&'a mut [u64]>,
}

// SAFETY: the pointers stand for exclusive borrows of plain integers, which may move between threads.
unsafe impl Send for Arrays<'_> {}

impl<'a> Arrays<'a> {
    /// Three arrays.
    #[cfg(test)]
    pub(crate) fn new(a: &'a mut [u64], b: &'a mut [u64], c: &'a mut [u64]) -> Self {
        assert!(a.len() == b.len() && a.len() == c.len(), "arrays of one length");
        let bytes = size_of_val(a);
        Self::checked([a.as_mut_ptr(), b.as_mut_ptr(), c.as_mut_ptr()], 3, bytes)
    }

    /// Cuts one block into the arrays that `operation` needs, as long as they fit; [`Arrays::block_bytes`] says
    /// how much of the block is used.
    ///
    /// # Panics
    /// If the block is not 64-byte aligned or does not hold one granule per array.
    #[expect(clippy::cast_ptr_alignment, reason = "`checked` looks at the alignment")]
    pub fn from_block(block: &'a mut [u8], operation: Operation) -> Self {
        let count = operation.array_count();
        let bytes = block.len() / count / ARRAY_GRANULE_BYTES * ARRAY_GRANULE_BYTES;
        assert!(bytes > 0, "{count} arrays in {} bytes", block.len());
        let mut starts = [core::ptr::null_mut(); 3];
        for (start, part) in starts.iter_mut().zip(block.chunks_exact_mut(bytes)).take(count) {
            *start = part.as_mut_ptr().cast::<u64>();
        }
        Self::checked(starts, count, bytes)
    }

    fn checked(starts: [*mut u64; 3], count: usize, bytes: usize) -> Self {
        let are_aligned =
            starts.iter().take(count).all(|start| start.addr().is_multiple_of(ARRAY_ALIGN_BYTES));
        assert!(are_aligned, "an array that does not start on a line");
        assert!(bytes > 0 && bytes.is_multiple_of(ARRAY_GRANULE_BYTES), "arrays of {bytes} bytes");
        Self { starts, count, bytes, memory: PhantomData }
    }

    /// Number of arrays, 1 to 3.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Elements of each array.
    pub const fn elements(&self) -> usize {
        self.bytes / ELEMENT_BYTES
    }

    /// Bytes of all arrays together.
    pub const fn block_bytes(&self) -> usize {
        self.bytes * self.count
    }

    /// Writes STREAM's start values, 1, 2 and 0, into `a`, `b` and `c`, and thereby touches every page.
    pub fn fill(&mut self) {
        for (index, value) in FIRST_VALUES.into_iter().enumerate().take(self.count) {
            self.array_mut(index).fill(value.to_bits());
        }
    }

    /// The bits of array `index` (0 is `a`).
    /// # Panics
    /// If there is no such array.
    pub fn array(&self, index: usize) -> &[u64] {
        assert!(index < self.count, "array {index} of {}", self.count);
        // SAFETY: the first `count` starts are valid, aligned and exclusively borrowed for `bytes` bytes.
        unsafe { core::slice::from_raw_parts(self.starts[index], self.elements()) }
    }

    /// The bits of array `index` (0 is `a`), to be written.
    /// # Panics
    /// If there is no such array.
    pub fn array_mut(&mut self, index: usize) -> &mut [u64] {
        assert!(index < self.count, "array {index} of {}", self.count);
        // SAFETY: as in `array`; `&mut self` makes the access exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.starts[index], self.elements()) }
    }

    /// Raw starts for the loops: null where there is no array.
    pub(crate) const fn starts(&self) -> [*mut u64; 3] {
        self.starts
    }

    /// Bytes of each array.
    pub(crate) const fn array_bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Block([u8; 4096]);

    #[test]
    fn a_block_is_cut_into_as_many_arrays_as_the_operation_needs() {
        let mut block = Block([0; 4096]);
        for (operation, count, bytes) in
            [(Operation::Read, 1, 4096), (Operation::Copy, 2, 4096), (Operation::Triad, 3, 3072)]
        {
            let mut arrays = Arrays::from_block(&mut block.0, operation);
            assert_eq!((arrays.count(), arrays.block_bytes()), (count, bytes));
            arrays.fill();
            assert!(arrays.array(0).iter().all(|&bits| bits == 1.0f64.to_bits()));
        }
    }
}
