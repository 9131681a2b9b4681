//! The governor that chooses frequencies.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "governor",
        title: "CPU frequency governor",
        does: "Who chooses the frequency of a CPU: powersave and performance hold one end, schedutil and ondemand follow the \
               load and take time to do so.",
        needs: &["root", "a cpufreq driver"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_governor"],
    settings: Settings::ListedIn("scaling_available_governors", "a governor that the driver offers"),
    remedy: "use a machine whose kernel controls frequencies, not a guest",
    ..FileToggle::BASE
};
