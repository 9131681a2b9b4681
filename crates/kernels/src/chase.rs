//! The pointer chase: dependent loads, each of which yields the address of the next.

use core::marker::PhantomData;

/// Dependent loads between two branches of a walk.
pub const LOADS_PER_ROUND: u64 = 64;

/// The most chases that [`walk_parallel`] follows at once.
pub const PARALLEL_MAX: usize = 16;

/// A node of a chain, alive as long as the chain's memory is borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor<'c> {
    node: *const u8,
    chain: PhantomData<&'c ()>,
}

// SAFETY: a cursor only reads memory that is borrowed for `'c` and not written meanwhile.
unsafe impl Send for Cursor<'_> {}

impl Cursor<'_> {
    /// # Safety
    /// `node` and all that it leads to are nodes: aligned pointers to nodes, valid and unchanged for the lifetime.
    pub(crate) const unsafe fn new(node: *const u8) -> Self {
        Self { node, chain: PhantomData }
    }

    /// The next node.
    #[must_use]
    #[inline]
    pub fn next(self) -> Self {
        // SAFETY: a cursor stands on a node (promise of `new`).
        let node = unsafe { self.node.cast::<*const u8>().read_volatile() };
        Self { node, ..self }
    }

    /// Address of the node.
    pub fn addr(self) -> usize {
        self.node.addr()
    }

    /// Makes `rounds * LOADS_PER_ROUND` dependent loads and returns where they end.
    #[must_use]
    #[inline(never)]
    pub fn walk(self, rounds: u64) -> Self {
        let mut cursor = self;
        for _ in 0..rounds * LOADS_PER_ROUND {
            cursor = cursor.next();
        }
        cursor
    }
}

/// Follows `K` chases side by side, each for `rounds * LOADS_PER_ROUND` dependent loads. `K` is 1 to 16.
#[must_use]
#[inline(never)]
pub fn walk_parallel<const K: usize>(mut cursors: [Cursor<'_>; K], rounds: u64) -> [Cursor<'_>; K] {
    const { assert!(K >= 1 && K <= PARALLEL_MAX, "1 to 16 chases") };
    for _ in 0..rounds * LOADS_PER_ROUND {
        for cursor in &mut cursors {
            *cursor = cursor.next();
        }
    }
    cursors
}
