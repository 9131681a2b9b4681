//! The lowest frequency that CPUs may take.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "frequency-floor",
        title: "Lowest CPU frequency",
        does: "Lets CPUs fall to their lowest frequency, or holds them at their highest: no time is lost in rising.",
        needs: &["root", "a cpufreq driver"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq"],
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
