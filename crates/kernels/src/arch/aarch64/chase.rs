//! Chases side by side, in registers of their own.

use core::arch::asm;

use crate::arch::ParallelWalk;
use crate::cursor::Cursor;

/// Defines loops, each over one chase more than the one before: its name, its last index and the register of that.
macro_rules! define_loops {
    ([$($index:tt $register:tt)*]) => {};
    ([$($index:tt $register:tt)*] $name:ident $last:tt $last_register:tt $($more:tt)*) => {
        /// # Safety
        /// There are as many cursors as the loop has registers; `rounds` is not zero.
        unsafe fn $name(cursors: &mut [Cursor<'_>], rounds: u64) {
            // SAFETY: every cursor stands on a node of a closed ring, so each load reads a valid word.
            unsafe {
                asm!(
                    rounds!(
                        16,
                        $(concat!("ldr ", $register, ", [", $register, "]"),)*
                        concat!("ldr ", $last_register, ", [", $last_register, "]")
                    ),
                    rounds = inout(reg) rounds => _,
                    $(inout($register) cursors[$index].node,)*
                    inout($last_register) cursors[$last].node,
                    options(nostack, readonly)
                );
            }
        }
        define_loops!([$($index $register)* $last $last_register] $($more)*);
    };
}

define_loops!([]
    walk_1 0 "x0" walk_2 1 "x1" walk_3 2 "x2" walk_4 3 "x3" walk_5 4 "x4" walk_6 5 "x5" walk_7 6 "x6" walk_8 7 "x7"
    walk_9 8 "x8" walk_10 9 "x9" walk_11 10 "x10" walk_12 11 "x11" walk_13 12 "x12" walk_14 13 "x13" walk_15 14 "x14"
    walk_16 15 "x15");

/// One for every number of chases.
pub(crate) const PARALLEL_WALKS: &[ParallelWalk] = &[
    walk_1, walk_2, walk_3, walk_4, walk_5, walk_6, walk_7, walk_8, walk_9, walk_10, walk_11, walk_12,
    walk_13, walk_14, walk_15, walk_16,
];
