//! Idle states deeper than polling.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "idle-states",
        title: "CPU idle states",
        does: "Lets CPUs sleep when idle, or keeps all states but polling from use. Sleeping costs wake-ups and gives its power \
               to the others.",
        needs: &["root", "a cpuidle driver"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/pm/cpuidle.rst",
    },
    files: &["sys/devices/system/cpu/cpu*/cpuidle/state+/disable"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("1"),
            means: "no state but polling",
            risk: Risk::Reversible,
        },
        Setting { name: "on", writes: Writes::Text("0"), means: "every state", risk: Risk::Reversible },
    ]),
    remedy: "boot a kernel with a cpuidle driver",
    last_only: false,
    unless: always,
};
