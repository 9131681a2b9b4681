//! What older Intel CPUs prefer.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "energy-bias",
        title: "Energy or performance bias (EPB)",
        does: "A hint of 0 (performance) to 15 (power) for frequency and idle decisions of the CPU.",
        needs: &["root", "an Intel CPU with EPB"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_epb.rst",
    },
    files: &["sys/devices/system/cpu/cpu*/power/energy_perf_bias"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting { name: "power", writes: Writes::Text("15"), means: "save power", risk: Risk::Reversible },
        Setting { name: "normal", writes: Writes::Text("6"), means: "balanced", risk: Risk::Reversible },
        Setting {
            name: "performance",
            writes: Writes::Text("0"),
            means: "save no power",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "use an Intel CPU whose flags hold epb, not a guest",
    last_only: false,
    unless: always,
};
