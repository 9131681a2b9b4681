//! Loops whose speed betrays a flaw or its workaround, each beside a loop that must not move with it.
//!
//! | what is slow with it | the loop, and its control | module |
//! |---|---|---|
//! | gathers wait for all their elements (Gather Data Sampling) | [`gather`]: eight scalar loads of the same words |
//! | jumps at the end of 32 bytes are decoded anew (Intel erratum SKX102, "JCC") | [`branch_edge`]: a `nop` there |
//! | VERW clears buffers (MDS, MMIO, RFDS, TSA) | [`segment_check`]: VERR |
//! | indirect branches and returns | [`calls`]: a jump there and back |
//! | RDRAND waits for a shared buffer (SRBDS) | [`hardware_random`]: [`rotate`](crate::rotate) |
//! | integer division (AMD erratum 665) | [`divide`]: [`rotate`](crate::rotate) |
//! | page walks (AMD erratum 298) | [`strided_walk`]: the same walk, line by line |
//! | stores of zero are not slower, but faster, where they are elided | [`mod@fill`]: another byte |
//! | transactions (TAA, TSX switched off) | [`transaction`]: [`rotate`](crate::rotate) |
//! | loads across a page, loads that seem to alias a store | [`crossing`], [`alias`](mod@alias): within a page, another offset |
//! | locked additions across two lines | [`locked_add`]: within one line |
//!
//! The loop of late store addresses is [`store_bypass`](crate::store_bypass), that of denormal numbers (FP-DSS)
//! [`float_divide`](crate::float_divide).

pub mod alias;
pub mod branch_edge;
pub mod calls;
pub mod crossing;
pub mod divide;
pub mod fill;
pub mod gather;
pub mod hardware_random;
pub mod locked_add;
pub mod segment_check;
pub mod strided_walk;
pub mod transaction;

pub use alias::{AliasedLoads, LoadOffset};
pub use branch_edge::{BLOCKS_PER_ROUND, EdgeInstruction, EdgeOffset, edge_loop};
pub use calls::{CALLS_PER_ROUND, Transfer, call_rounds};
pub use crossing::{Crossing, CrossingLoads};
pub use divide::{DIVISIONS_PER_ROUND, divide_chain};
pub use fill::fill;
pub use gather::{GATHERS_PER_ROUND, GatherLoop, GatherTable};
pub use hardware_random::HardwareRandom;
pub use locked_add::{LockPlace, LockedLines};
pub use segment_check::{CHECKS_PER_ROUND, SegmentCheck, SegmentSelector};
pub use strided_walk::StridedWalk;
pub use transaction::Transactions;
