//! The pointer chase: dependent loads, each of which yields the address of the next.
//!
//! ```text
//! repeat rounds:  64 x  rax = [rax]        (mov rax, [rax]: 1 load of 8 bytes, nothing else)
//! ```
//! Per round 64 loads, no store, one branch. Side by side, k chases are k such chains in k registers, 16 loads of
//! each between branches; up to 12 find a register of their own, more are left to the compiler, which keeps some in
//! the stack: a few cycles more per load, which matters in L1 and L2 only.

use core::marker::PhantomData;

/// Dependent loads of one round of a walk.
pub const LOADS_PER_ROUND: u64 = 64;

/// The most chases that [`walk_parallel`] follows at once.
pub const PARALLEL_MAX: usize = 16;

/// Dependent loads of each chase in one round of [`walk_parallel`].
pub const PARALLEL_LOADS_PER_ROUND: u64 = 16;

/// What a node holds: a pointer to the next node.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Link(pub(crate) *const Link);

/// A node of a chain, alive as long as the chain's memory is borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor<'c> {
    /// Points to a node: a pointer to a node, and so on without end, all valid and unchanged during `'c`.
    node: *const Link,
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

    /// Makes `rounds * LOADS_PER_ROUND` dependent loads and returns where they end.
    #[must_use]
    #[inline(never)]
    pub fn walk(self, rounds: u64) -> Self {
        if rounds == 0 {
            return self;
        }
        // SAFETY: a cursor stands on a node (promise of `new`), and there is a round.
        let node = unsafe { walk_rounds(self.node, rounds) };
        Self { node, ..self }
    }

    /// Makes so many dependent loads, in rounds as far as these go.
    #[must_use]
    pub fn steps(self, loads: u64) -> Self {
        (0..loads % LOADS_PER_ROUND).fold(self.walk(loads / LOADS_PER_ROUND), |cursor, _| cursor.next())
    }
}

/// # Safety
/// `node` is a node as [`Cursor::new`] wants it; `rounds` is not zero.
#[cfg(target_arch = "x86_64")]
unsafe fn walk_rounds(mut node: *const Link, rounds: u64) -> *const Link {
    // SAFETY: the ring is closed (caller's promise), so each load reads a valid word.
    unsafe {
        core::arch::asm!(
            rounds!(64, "mov {node}, [{node}]"),
            node = inout(reg) node,
            rounds = inout(reg) rounds => _,
            options(nostack, readonly)
        );
    }
    node
}

/// # Safety
/// `node` is a node as [`Cursor::new`] wants it.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn walk_rounds(node: *const Link, rounds: u64) -> *const Link {
    // SAFETY: the caller's promise is that of `new`.
    let mut cursor = unsafe { Cursor::new(node) };
    for _ in 0..rounds * LOADS_PER_ROUND {
        cursor = cursor.next();
    }
    cursor.node
}

/// Follows `K` chases side by side, each for `rounds * PARALLEL_LOADS_PER_ROUND` dependent loads, and returns where
/// they end. `K` is 1 to 16.
#[must_use]
#[inline(never)]
pub fn walk_parallel<const K: usize>(mut cursors: [Cursor<'_>; K], rounds: u64) -> [Cursor<'_>; K] {
    const { assert!(K >= 1 && K <= PARALLEL_MAX, "1 to 16 chases") };
    if rounds == 0 {
        return cursors;
    }
    #[cfg(target_arch = "x86_64")]
    if K <= registers::CHASES_MAX {
        registers::walk(&mut cursors, rounds);
        return cursors;
    }
    for _ in 0..rounds * PARALLEL_LOADS_PER_ROUND {
        for cursor in &mut cursors {
            *cursor = cursor.next();
        }
    }
    cursors
}

/// Parallel chases with one register each.
#[cfg(target_arch = "x86_64")]
mod registers {
    use super::Cursor;

    /// Registers that can hold a chase: all but the stack pointer, rbx and rbp, which the compiler keeps for itself, and
    /// r15, which counts the rounds.
    pub(super) const CHASES_MAX: usize = 12;

    /// Defines the loop over the given chases, each an index and its register.
    macro_rules! define_loop {
        ($name:ident: $($index:literal $register:tt),+) => {
            /// # Safety
            /// There are as many cursors as the loop has registers; `rounds` is not zero.
            unsafe fn $name(cursors: &mut [Cursor<'_>], rounds: u64) {
                // SAFETY: every cursor stands on a node of a closed ring, so each load reads a valid word.
                unsafe {
                    core::arch::asm!(
                        ".p2align 6",
                        "2:",
                        ".rept 16",
                        $(concat!("mov ", $register, ", [", $register, "]"),)+
                        ".endr",
                        "dec r15",
                        "jnz 2b",
                        $(inout($register) cursors[$index].node,)+
                        inout("r15") rounds => _,
                        options(nostack, readonly)
                    );
                }
            }
        };
    }

    define_loop!(walk_1: 0 "rax");
    define_loop!(walk_2: 0 "rax", 1 "rcx");
    define_loop!(walk_3: 0 "rax", 1 "rcx", 2 "rdx");
    define_loop!(walk_4: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi");
    define_loop!(walk_5: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi");
    define_loop!(walk_6: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8");
    define_loop!(walk_7: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9");
    define_loop!(walk_8: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10");
    define_loop!(walk_9: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11");
    define_loop!(walk_10: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12");
    define_loop!(walk_11: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13");
    define_loop!(walk_12: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13", 11 "r14");

    type Loop = unsafe fn(&mut [Cursor<'_>], u64);
    const LOOPS: [Loop; CHASES_MAX] =
        [walk_1, walk_2, walk_3, walk_4, walk_5, walk_6, walk_7, walk_8, walk_9, walk_10, walk_11, walk_12];

    /// Walks 1 to [`CHASES_MAX`] cursors for `rounds` rounds, not zero.
    pub(super) fn walk(cursors: &mut [Cursor<'_>], rounds: u64) {
        // SAFETY: the loop is the one for this many cursors, and the caller has seen that there are rounds.
        unsafe { LOOPS[cursors.len() - 1](cursors, rounds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Chain, Layout, Order, Position};

    #[repr(align(64))]
    struct Block([u8; 64 * 37]);

    const LAYOUT: Layout =
        Layout { stride_bytes: 64, order: Order::Random, position: Position::Start, seed: 7 };

    #[test]
    fn a_walk_ends_where_single_steps_end() {
        let mut block = Block([0; 64 * 37]);
        let chain = Chain::build(&mut block.0, LAYOUT).expect("aligned");
        for rounds in [0, 1, 2, 5] {
            let steps = (rounds * LOADS_PER_ROUND) as usize;
            let expected = (0..steps).fold(chain.start(), |cursor, _| cursor.next());
            assert_eq!(chain.start().walk(rounds), expected);
            assert_eq!(chain.start().steps(steps as u64 + 3), expected.next().next().next());
        }
        assert_eq!(chain.start().steps(37), chain.start(), "a cycle through all nodes");
    }

    fn check_parallel<const K: usize>(chain: &Chain<'_>) {
        let starts: [Cursor<'_>; K] = core::array::from_fn(|index| chain.cursor(index * 3));
        let ends = walk_parallel(starts, 3);
        for (start, end) in starts.into_iter().zip(ends) {
            let steps = 0..3 * PARALLEL_LOADS_PER_ROUND;
            assert_eq!(end, steps.fold(start, |cursor, _| cursor.next()), "{K} chases");
        }
        assert_eq!(walk_parallel(starts, 0), starts);
    }

    #[test]
    fn chases_side_by_side_end_where_each_would_alone() {
        let mut block = Block([0; 64 * 37]);
        let chain = Chain::build(&mut block.0, LAYOUT).expect("aligned");
        check_parallel::<1>(&chain);
        check_parallel::<2>(&chain);
        check_parallel::<3>(&chain);
        check_parallel::<4>(&chain);
        check_parallel::<5>(&chain);
        check_parallel::<6>(&chain);
        check_parallel::<7>(&chain);
        check_parallel::<8>(&chain);
        check_parallel::<9>(&chain);
        check_parallel::<10>(&chain);
        check_parallel::<11>(&chain);
        check_parallel::<12>(&chain);
        check_parallel::<13>(&chain);
        check_parallel::<16>(&chain);
    }
}
