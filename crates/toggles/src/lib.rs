//! What can be switched on a machine, at which risk, and the engine that always switches it back.
#![forbid(unsafe_code)]

mod catalogue;
mod file_toggle;
mod latch;
mod pair;
mod process_toggle;
mod risk;
mod surroundings;
mod toggle;

pub use catalogue::{UnknownToggle, catalogue, find};
pub use pair::{Pair, PairError, Position};
pub use risk::{Consent, Refusal, Risk};
pub use surroundings::{Surroundings, User};
pub use toggle::{About, Availability, Change, Lifetime, Switch, SwitchError, Toggle, Value};
