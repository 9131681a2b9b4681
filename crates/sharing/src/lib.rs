//! Who shares what: threads watched by samples of their registers, and the weights of an [`Objective`](placement::Objective).
//!
//! A sample names a thread, the instruction that comes next and the registers before it; decoded, that is the address it
//! touches, without a performance counter and without privilege. Touches of all threads, sorted by address, fall into stretches
//! of memory that the same threads touch; two threads share as much as their touches overlap in these.
#![forbid(unsafe_code)]

mod instruction;
mod overlap;
mod program;
mod region;
mod samplers;
mod schedule;
mod segment;
mod symbols;
mod tally;
mod touch;
mod watch;
mod weights;

pub use instruction::{Access, CODE_BEFORE_BYTES, Code, Operand, Run};
pub use overlap::{Overlaps, TOUCHES_FEW, overlaps};
pub use samplers::Samplers;
pub use segment::{LINE_BYTES, Segment, Use, segments};
pub use touch::{Extent, Object, Touch, Touches};
pub use watch::{ProfileOptions, RATE_HZ, profile, watch, watch_while};
pub use weights::{SharingWeights, demand, weights};
