//! What can be switched on a machine, at which risk, and the engine that always switches it back.
#![forbid(unsafe_code)]

mod affinity;
mod catalogue;
mod experiment;
mod file_toggle;
mod hold;
mod journal;
mod pair;
mod pinning;
mod process_toggle;
mod register_toggle;
mod restore;
mod revert;
mod risk;
mod system_state;
mod toggle;

pub use affinity::{put_back, rebind, remember};
pub use catalogue::{UnknownToggle, catalogue, find};
pub use experiment::{Experiment, ExperimentError, Intent, settle, survey};
pub use hold::{Hold, HoldError, PinHold, PinnedTree, Place, stand_watch};
pub use journal::{
    Affinities, Entry, FileAffinity, JOURNAL_NAME, Journal, Owner, Pins, TaskGroup, ThreadId, Unreadable,
    clear, decode, encode, load, set_aside, store,
};
pub use pair::{Pair, PairError, combinable};
pub use pinning::{PinError, PinIntent, Pinning, Seen};
pub use restore::{Fate, Restored, restore};
pub use revert::{Found, Revert, RevertError, Reverted, find_state, find_state_of_user, revert, revert_on};
pub use risk::{Consent, Refusal, Risk};
pub use system_state::{SystemState, User};
pub use toggle::{About, Availability, Change, Lifetime, Switch, SwitchError, Toggle, Value};
