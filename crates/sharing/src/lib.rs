//! Who shares what: threads watched by samples of their registers, and the weights of an [`Objective`](placement::Objective).
//!
//! A sample names a thread, the instruction that comes next and the registers before it; decoded, that is the address it
//! touches, without a performance counter and without privilege. Touches of all threads, sorted by address, fall into stretches
//! of memory that the same threads touch; two threads share as much as their touches overlap in these.
#![forbid(unsafe_code)]

mod clock_registers;
mod epochs;
mod instruction;
mod offered;
mod overlap;
mod page_choice;
mod program;
mod region;
mod schedule;
mod segment;
mod signal_registers;
mod source;
mod symbols;
mod tally;
mod touch;
mod watch;
mod weights;
mod write_watched;
mod writers;

pub use clock_registers::ClockRegisters;
pub use instruction::{Access, Operand, Run};
pub use offered::OF_WAKES;
pub use overlap::{Overlaps, TOUCHES_FEW, overlaps};
pub use segment::{LINE_BYTES, Segment, Use, segments};
pub use signal_registers::SignalRegisters;
pub use source::{Source, SourceChoice, SourceError, source_of};
pub use touch::{Extent, Object, Touch, Touches};
pub use watch::{Profile, ProfileError, ProfileOptions, RATE_HZ, Subject, profile, watch, watch_while};
pub use weights::{SharingWeights, demand, weights};
pub use write_watched::{WRITES_WAIT_SHARE, write_watched};
pub use writers::{FirstWrite, WritesSeen};
