//! Frequencies above the nominal one, where cpufreq has a switch for it.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "boost",
        title: "Frequency boost (cpufreq)",
        does: "Lets CPUs rise above their nominal frequency while power and heat allow. Without it times are steadier and \
               longer.",
        needs: &["root", "a cpufreq driver with boost"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
    },
    files: &["sys/devices/system/cpu/cpufreq/boost"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("0"),
            means: "nominal frequency at most",
            risk: Risk::Reversible,
        },
        Setting {
            name: "on",
            writes: Writes::Text("1"),
            means: "above nominal when possible",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "on Intel see turbo; guests have no frequency",
    last_only: false,
    unless: always,
};
