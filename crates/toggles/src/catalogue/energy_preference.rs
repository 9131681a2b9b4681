//! What the CPU itself prefers when it chooses frequencies.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "energy-preference",
        title: "Energy or performance preference (EPP)",
        does: "CPUs that choose their own frequency are told how much power to save. power wakes slowly, performance quickly.",
        needs: &["root", "intel_pstate or amd_pstate in active mode"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"],
    settings: Settings::ListedIn(
        "energy_performance_available_preferences",
        "a preference that the CPU takes",
    ),
    remedy: "use a machine with intel_pstate or amd_pstate in active mode",
    ..FileToggle::BASE
};
