//! The lowest frequency that CPUs may take.

use super::frequency_ceiling;
use crate::About;
use crate::file_toggle::FileToggle;

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "frequency-floor",
        title: "Lowest CPU frequency",
        does: "Lets CPUs fall to their lowest frequency, or holds them at their highest: no time is lost in rising.",
        ..frequency_ceiling::TOGGLE.about
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq"],
    ..frequency_ceiling::TOGGLE
};
