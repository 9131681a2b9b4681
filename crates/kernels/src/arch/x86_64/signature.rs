//! Loops whose speed betrays a flaw or its workaround, each beside a loop that must not move with it.
//!
//! | what is slow with it | the loop, and its control | module |
//! |---|---|---|
//! | gathers wait for all their elements (Gather Data Sampling) | [`gather`]: eight scalar loads of the same words |
//! | jumps at the end of 32 bytes are decoded anew (Intel erratum SKX102, "JCC") | [`branch_edge`]: a `nop` there |
//! | page walks (AMD erratum 298) | [`strided_walk`]: the same walk, line by line |
//! | locked additions across two lines | [`locked_add`]: within one line |
//! | calls, on a CPU that is emulated | [`calls`]: [`multiply`](crate::multiply) |
//!
//! The loop of late store addresses is [`store_bypass`](crate::store_bypass).

pub mod branch_edge;
pub mod calls;
pub mod gather;
pub mod locked_add;
pub mod strided_walk;

pub use branch_edge::{BLOCKS_PER_ROUND, EdgeInstruction, EdgeOffset, edge_loop};
pub use calls::{CALLS_PER_ROUND, direct_calls};
pub use gather::{GATHERS_PER_ROUND, GatherLoop, GatherTable};
pub use locked_add::{LockPlace, LockedLines};
pub use strided_walk::StridedWalk;
