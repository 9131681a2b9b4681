//! What the CPU itself prefers when it chooses frequencies.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Settings, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "energy-preference",
        title: "Energy or performance preference (EPP)",
        does: "CPUs that choose their own frequency are told how much power to save. power wakes slowly, performance quickly.",
        needs: &["root", "intel_pstate or amd_pstate in active mode"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"],
    form: Form::Text,
    settings: Settings::ListedIn(
        "energy_performance_available_preferences",
        "a preference that the CPU takes",
    ),
    remedy: "use a machine with intel_pstate or amd_pstate in active mode",
    last_only: false,
    unless: always,
};
