//! What older Intel CPUs prefer.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "energy-bias",
        title: "Energy or performance bias (EPB)",
        does: "A hint of 0 (performance) to 15 (power) for frequency and idle decisions of the CPU.",
        needs: &["root", "an Intel CPU with EPB"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_epb.rst",
        x86_only: true,
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpu*/power/energy_perf_bias"],
    settings: Settings::Fixed(&[
        Setting::named("power").text("15").means("save power"),
        Setting::named("normal").text("6").means("balanced"),
        Setting::named("performance").text("0").means("save no power"),
    ]),
    remedy: "use an Intel CPU whose flags hold epb, not a guest",
    ..FileToggle::BASE
};
