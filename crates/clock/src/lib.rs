//! The time-stamp counter: ordered reads, and its rate against the kernel's raw clock with an error bound.
//!
//! Ticks are not nanoseconds: only `TickRate` converts, and it says how well it knows the rate.
//! On machines without a usable counter the raw monotonic clock stands in, one tick per nanosecond.
//!
//! The counters of two CPUs are compared by an [`Exchange`], many exchanges make a [`Strip`], three pairs a
//! [`LoopClosure`]; all of it runs on a [`FaultedCounter`] as well as on the hardware.

mod counter;
mod exchange;
mod fault;
mod platform;
mod rate;
mod source;
mod strip;
mod triangle;

pub use counter::{Counter, begin, end, stamp};
pub use exchange::{Bound, Exchange, ExchangeLimits, Exchanged, FRESH_ENOUGH, Side, SideView};
pub use fault::{Fault, FaultSchedule, FaultedCounter, Regime};
pub use platform::monotonic_raw_ns;
pub use rate::{CalibrationError, TickRate};
pub use source::{CounterDenied, CounterSource, TimeStampCounter};
pub use strip::{
    ASYMMETRY_SHARE, Bounds, ERRORS_FOR_DRIFT, Line, Point, SIGHTINGS_FOR_DRIFT, Sighting, Strip,
};
pub use triangle::{KnownOffset, LoopClosure};
