//! A fast clock over per-CPU time-stamp counters that drift cannot break, and the parts it is made of.
//!
#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Clock`] is the clock, [`Instant`] and [`Ordered`] are what it gives. [`Instant::now`] reads the clock of the process without
//! one at hand; [`Mock`] stands for both in tests.
//!
//! Below it, each CPU has a [`Slot`], a [`Calibrator`] writes what readers follow, and an [`Engine`] holds both together. The
//! counters of two CPUs are compared by an [`Exchange`], many exchanges make a [`Strip`], three pairs a [`LoopClosure`]; all
//! of it runs on a [`FaultedCounter`] as well as on the hardware.

#![warn(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("sidestep-clock follows the clocks of Linux; on other systems use std::time::Instant");

/// A page for programs that use `quanta`.
#[doc = include_str!("../docs/moving-from-quanta.md")]
#[cfg(any(doc, doctest))]
pub mod moving_from_quanta {}

mod alignment;
mod arch;
/// The atomics of the slot, in one place: the model checker puts its own here.
mod atomics {
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}
mod bracket;
mod calibrator;
mod clock;
mod discipline;
mod disruption;
mod engine;
mod exchange;
mod fault;
mod follower;
mod hardware;
mod instant;
mod kernel_clock;
mod mock;
mod platform;
mod process;
mod rate;
mod scope;
mod slot;
mod source;
mod stamp;
mod stamper;
mod timestamp_exchange;

pub use alignment::{Alignment, Belief, Change, Correction};
pub use calibrator::{Calibrator, Timing};
pub use clock::Clock;
pub use discipline::{Bracket, Discipline, Policy, Rate, Verdict};
pub use disruption::{Disruption, SystemState};
pub use engine::{Engine, Instruments, Source};
pub use exchange::{Bound, Exchange, ExchangeLimits, Exchanged, FRESH_ENOUGH, Side, SideView};
pub use fault::{Fault, FaultSchedule, FaultedCounter};
pub use follower::{BOUND_NS, Followed, Follower, SEGMENT_NS, SLEW_SHARE};
pub use hardware::{FaultedHardware, Hardware, pinned_exchange, start_calibrator};
pub use instant::{Instant, Ordered};
pub use kernel_clock::{ClockError, KernelClock, Timescale};
pub use mock::Mock;
pub use platform::{VmClock, allowed_cpus, monotonic_raw_ns, possible_cpu_count};
pub use rate::{CalibrationError, TickRate};
pub use slot::{Place, RATE_SHIFT, SPAN_MAX, SPAN_SHIFT, Segment, Slot};
pub use source::{
    CounterDenied, CounterSource, NoCounter, Regime, TimeStampCounter, begin, end, resolution_ticks, stamp,
};
pub use stamp::{Counter, Stamp, StampMethod};
pub use stamper::Stamper;
pub use timestamp_exchange::{
    Bounds, Contradiction, KnownOffset, Line, LoopClosure, Point, SIGHTINGS_FOR_DRIFT, Sighting, Strip,
};
