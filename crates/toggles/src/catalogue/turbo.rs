//! Frequencies above the nominal one, with intel_pstate.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "turbo",
        title: "Turbo (intel_pstate)",
        does: "Lets CPUs rise above their nominal frequency while power and heat allow. Without it times are steadier and \
               longer.",
        needs: &["root", "the intel_pstate driver"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
    },
    files: &["sys/devices/system/cpu/intel_pstate/no_turbo"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("1"),
            means: "nominal frequency at most",
            risk: Risk::Reversible,
        },
        Setting {
            name: "on",
            writes: Writes::Text("0"),
            means: "above nominal when possible",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "elsewhere see boost; guests have no frequency",
    last_only: false,
    unless: always,
};
