//! The pointer chase: dependent loads, each of which yields the address of the next.
//!
//! ```text
//! repeat rounds:  64 x  rax = [rax]        (mov rax, [rax]; arm64: ldr x, [x]: 1 load of 8 bytes, nothing else)
//! ```
//! Per round 64 loads, no store, one branch. Side by side, k chases are k such chains in k registers, 16 loads of
//! each between branches; up to 12 on x86-64 and all on arm64 find a register of their own, more are left to the compiler,
//! which keeps some in the stack: a few cycles more per load, which matters in L1 and L2 only.

use crate::arch;
use crate::cursor::Cursor;
use crate::loop_interface::LOADS_PER_ROUND;

/// The most chases that [`walk_parallel`] follows at once.
pub const PARALLEL_MAX: usize = 16;

/// Dependent loads of each chase in one round of [`walk_parallel`].
pub const PARALLEL_LOADS_PER_ROUND: u64 = 16;

impl Cursor<'_> {
    /// Makes `rounds * LOADS_PER_ROUND` dependent loads and returns where they end.
    #[must_use]
    #[inline(never)]
    pub fn walk(self, rounds: u64) -> Self {
        if rounds == 0 {
            return self;
        }
        // SAFETY: a cursor stands on a node (promise of `new`), and there is a round.
        let node = unsafe { arch::walk(self.node, rounds) };
        // SAFETY: it was reached from a node.
        unsafe { Self::new(node) }
    }

    /// Makes so many dependent loads, in rounds as far as these go.
    #[must_use]
    pub fn steps(self, loads: u64) -> Self {
        (0..loads % LOADS_PER_ROUND).fold(self.walk(loads / LOADS_PER_ROUND), |cursor, _| cursor.next())
    }
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
    if walk_in_registers(&mut cursors, rounds) {
        return cursors;
    }
    for _ in 0..rounds * PARALLEL_LOADS_PER_ROUND {
        for cursor in &mut cursors {
            *cursor = cursor.next();
        }
    }
    cursors
}

/// Walks so many cursors with a register for each; without so many registers it does nothing and returns false.
fn walk_in_registers(cursors: &mut [Cursor<'_>], rounds: u64) -> bool {
    let Some(walk) = arch::PARALLEL_WALKS.get(cursors.len() - 1) else { return false };
    // SAFETY: the loop is the one for this many cursors, and the caller has seen that there are rounds.
    unsafe { walk(cursors, rounds) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Chain, Layout};

    #[repr(align(64))]
    struct Block([u8; 64 * 37]);

    fn laid(block: &mut Block) -> Chain<'_> {
        Chain::build_while(&mut block.0, Layout::random(64, 7), &|| true).expect("there is time")
    }

    #[test]
    fn a_walk_ends_where_single_steps_end() {
        let mut block = Block([0; 64 * 37]);
        let chain = laid(&mut block);
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
        let chain = laid(&mut block);
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
