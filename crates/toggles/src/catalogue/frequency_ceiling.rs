//! The highest frequency that CPUs may take.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "frequency-ceiling",
        title: "Highest CPU frequency",
        does: "Holds all CPUs at their lowest frequency, or lets them rise to their highest. Against the floor it tells how \
               much of a difference is frequency alone.",
        needs: &["root", "a cpufreq driver"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"],
    settings: Settings::Fixed(&[
        Setting::named("lowest").text_of("cpuinfo_min_freq").means("the lowest that the CPU has"),
        Setting::named("highest").text_of("cpuinfo_max_freq").means("the highest that the CPU has"),
    ]),
    remedy: "use a machine whose kernel controls frequencies, not a guest",
    ..FileToggle::BASE
};
