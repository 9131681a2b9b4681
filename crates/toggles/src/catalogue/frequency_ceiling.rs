//! The highest frequency that CPUs may take.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "frequency-ceiling",
        title: "Highest CPU frequency",
        does: "Holds all CPUs at their lowest frequency, or lets them rise to their highest. Against the floor it tells how \
               much of a difference is frequency alone.",
        needs: &["root", "a cpufreq driver"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "lowest",
            writes: Writes::TextOf("cpuinfo_min_freq"),
            means: "the lowest that the CPU has",
            risk: Risk::Reversible,
        },
        Setting {
            name: "highest",
            writes: Writes::TextOf("cpuinfo_max_freq"),
            means: "the highest that the CPU has",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "use a machine whose kernel controls frequencies, not a guest",
    last_only: false,
    unless: always,
};
