//! The time-stamp counter: ordered reads, and its rate against the kernel's raw clock with an error bound.
//!
//! Ticks are not nanoseconds: only `TickRate` converts, and it says how well it knows the rate.
//! On machines without a usable counter the raw monotonic clock stands in, one tick per nanosecond.

mod counter;
mod platform;
mod rate;

pub use counter::{Counter, begin, end, stamp};
pub use platform::monotonic_raw_ns;
pub use rate::{CalibrationError, TickRate};
