//! A place in a chain of pointers.

use core::marker::PhantomData;

/// What a node holds: a pointer to the next node.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Link(pub(crate) *const Link);

/// A node of a chain, alive as long as the chain's memory is borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor<'c> {
    /// Points to a node: a pointer to a node, and so on without end, all valid and unchanged during `'c`.
    pub(crate) node: *const Link,
    chain: PhantomData<&'c ()>,
}

// SAFETY: a cursor only reads memory that is borrowed for `'c` and not written meanwhile.
unsafe impl Send for Cursor<'_> {}

impl Cursor<'_> {
    /// # Safety
    /// `node` and all that it leads to are nodes: aligned pointers to nodes, valid and unchanged for the lifetime.
    pub(crate) const unsafe fn new(node: *const Link) -> Self {
        Self { node, chain: PhantomData }
    }

    /// The next node.
    #[must_use]
    #[inline]
    pub fn next(self) -> Self {
        // SAFETY: a cursor stands on a node (promise of `new`).
        let Link(node) = unsafe { self.node.read_volatile() };
        Self { node, ..self }
    }

    /// Address of the node.
    pub fn addr(self) -> usize {
        self.node.addr()
    }
}
