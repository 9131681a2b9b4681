//! The highest frequency of the uncore: mesh, L3 and memory controllers.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "uncore-frequency",
        title: "Uncore frequency ceiling",
        does: "Holds mesh, L3 and memory controllers of Intel servers at their lowest frequency, or lets them rise. It moves the \
               latency of all that misses L2.",
        needs: &["root", "the intel_uncore_frequency module"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst",
        x86_only: true,
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/intel_uncore_frequency/package_*_die_*/max_freq_khz"],
    settings: Settings::Fixed(&[
        Setting::named("lowest").text_of("initial_min_freq_khz").means("the lowest that there was at boot"),
        Setting::named("highest").text_of("initial_max_freq_khz").means("the highest that there was at boot"),
    ]),
    remedy: "load the module intel_uncore_frequency on an Intel server",
    ..FileToggle::BASE
};
