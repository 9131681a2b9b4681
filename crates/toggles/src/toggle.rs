//! One thing that can be switched, in the terms of whoever switches it: values, risks, and the exact changes.
//!
//! A toggle never writes. It says which changes a value needs, and the engine makes them (journal first, read back,
//! put back) or, for what ends with a process, the thread or child makes them for itself.

use std::time::Duration;

use host::Target;
use host::live::{PageRequest, ProcessSetting};

use crate::{Risk, SystemState};

/// How long a switch lasts if nobody undoes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the thread or process that made it ends.
    Process,
    /// Until the next boot.
    System,
}

impl Lifetime {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::System => "until reboot",
        }
    }
}

/// What stays the same about a toggle on every machine.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// What the user types: lower case, hyphens.
    pub name: &'static str,
    /// What is switched, in at most 40 characters.
    pub title: &'static str,
    /// What it does and when it matters, in sentences.
    pub does: &'static str,
    /// What must be there, one item each: privilege, hardware, kernel.
    pub needs: &'static [&'static str],
    /// The highest risk of any of its values.
    pub risk: Risk,
    /// Which vulnerability or fault a risky value uncovers; empty if there is none.
    pub opens: &'static str,
    /// How long it lasts.
    pub lifetime: Lifetime,
    /// How long to wait after a switch before anything is measured.
    pub settle: Duration,
    /// Where the facts come from.
    pub source: &'static str,
    /// Only x86 has it: not to be had elsewhere by any remedy.
    pub x86_only: bool,
}

impl About {
    /// What most toggles of the machine share.
    pub(crate) const SYSTEM: Self = Self {
        name: "",
        title: "",
        does: "",
        needs: &["root"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "",
        x86_only: false,
    };

    /// What most toggles of a process share.
    pub(crate) const PROCESS: Self = Self {
        needs: &[],
        risk: Risk::Process,
        lifetime: Lifetime::Process,
        settle: Duration::ZERO,
        ..Self::SYSTEM
    };

    /// Why a machine cannot have it by its architecture alone, if so.
    pub(crate) fn foreign(&self, system: &SystemState) -> Option<Availability> {
        let identity = &system.machine.identity;
        let here = identity.architecture.as_deref()?;
        let is_foreign = self.x86_only && !identity.is_x86();
        is_foreign.then(|| Availability::missing(format!("only x86 has it; this is {here}"), ""))
    }
}

/// Whether a toggle can be used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available,
    /// It cannot.
    Missing {
        /// Why.
        reason: String,
        /// What would make it so; empty if nothing would.
        remedy: String,
    },
    /// A recording cannot tell.
    Unknown {
        /// Why.
        reason: String,
    },
}

impl Availability {
    /// A reason and what would help.
    pub fn missing(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Missing { reason: reason.into(), remedy: remedy.into() }
    }

    /// Why nobody can use it on this machine as it runs now, if so: not even root, after loading a module.
    pub fn out_of_reach(&self) -> Option<&str> {
        const WITHIN_REACH: [&str; 3] = ["run as root", "modprobe", "sidestep toggles"];
        match self {
            Self::Missing { reason, remedy } if !WITHIN_REACH.iter().any(|near| remedy.starts_with(near)) => {
                Some(reason)
            }
            _ => None,
        }
    }

    /// True if it can be used.
    pub fn is_available(&self) -> bool {
        *self == Self::Available
    }
}

/// A value that a toggle can take on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// What the user types.
    pub name: String,
    /// What it means.
    pub means: String,
    /// The risk of switching to it.
    pub risk: Risk,
}

/// One write of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub target: Target,
    /// The canonical value to be written.
    pub value: String,
}

/// How a value is made to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switch {
    /// By settings of a thread ([`host::live::SettingGuard`]) or of a child ([`host::live::prepare`]).
    Process(Vec<ProcessSetting>),
    /// By the pages that a probe asks for its own buffers.
    Buffers(PageRequest),
    /// By writes that the engine makes and takes back.
    System(Vec<Change>),
}

/// Why a value cannot be switched to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// The toggle cannot be used here.
    #[error("{toggle} cannot be switched here: {reason}{remedy}")]
    Unavailable {
        toggle: &'static str,
        /// Why.
        reason: String,
        /// What would help, with its separator; or empty.
        remedy: String,
    },
    /// It has no such value here.
    #[error("{toggle} has no value {value:?} here; choose among {choices}")]
    NoSuchValue {
        toggle: &'static str,
        /// What was asked for.
        value: String,
        /// What there is.
        choices: String,
    },
}

/// Something that can be switched.
pub trait Toggle: Sync {
    /// What stays the same on every machine.
    fn about(&self) -> &About;

    /// Whether it can be used here.
    fn availability(&self, system: &SystemState) -> Availability;

    /// The name of the value that holds now; `None` where that is unknown, or several hold at once.
    fn now(&self, system: &SystemState) -> Option<String>;

    /// The values it can take here, the state without the workaround or feature first.
    fn values(&self, system: &SystemState) -> Vec<Value>;

    /// The values of an experiment when the user names none: A, the state without, and B, the state with.
    fn default_values(&self, system: &SystemState) -> Option<(String, String)> {
        let values = self.values(system);
        match (values.first(), values.last()) {
            (Some(first), Some(last)) if values.len() > 1 => Some((first.name.clone(), last.name.clone())),
            _ => None,
        }
    }

    /// How to make a value hold.
    ///
    /// # Errors
    /// `Unavailable` here, or `NoSuchValue`.
    fn switch(&self, system: &SystemState, value: &str) -> Result<Switch, SwitchError>;

    /// The value asked for.
    ///
    /// # Errors
    /// `Unavailable` here, or `NoSuchValue`.
    fn value(&self, system: &SystemState, name: &str) -> Result<Value, SwitchError> {
        let toggle = self.about().name;
        match self.availability(system) {
            Availability::Available => {}
            Availability::Missing { reason, remedy } => {
                let remedy = if remedy.is_empty() { remedy } else { format!("; {remedy}") };
                return Err(SwitchError::Unavailable { toggle, reason, remedy });
            }
            Availability::Unknown { reason } => {
                return Err(SwitchError::Unavailable { toggle, reason, remedy: String::new() });
            }
        }
        let mut values = self.values(system);
        if let Some(index) = values.iter().position(|value| value.name == name) {
            return Ok(values.swap_remove(index));
        }
        let choices: Vec<String> = values.into_iter().map(|value| value.name).collect();
        Err(SwitchError::NoSuchValue { toggle, value: name.to_owned(), choices: choices.join(", ") })
    }
}
