//! The highest frequency of the uncore: mesh, L3 and memory controllers.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "uncore-frequency",
        title: "Uncore frequency ceiling",
        does: "Holds mesh, L3 and memory controllers of Intel servers at their lowest frequency, or lets them rise. It moves the \
               latency of all that misses L2.",
        needs: &["root", "the intel_uncore_frequency module"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst",
    },
    files: &["sys/devices/system/cpu/intel_uncore_frequency/package_*_die_*/max_freq_khz"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "lowest",
            writes: Writes::TextOf("initial_min_freq_khz"),
            means: "the lowest that there was at boot",
            risk: Risk::Reversible,
        },
        Setting {
            name: "highest",
            writes: Writes::TextOf("initial_max_freq_khz"),
            means: "the highest that there was at boot",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "load the module intel_uncore_frequency on an Intel server",
    last_only: false,
    unless: always,
};
