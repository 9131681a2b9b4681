//! Idle states deeper than polling.

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "idle-states",
        title: "CPU idle states",
        does: "Lets CPUs sleep when idle, or keeps all states but polling from use. Sleeping costs wake-ups and gives its power \
               to the others.",
        needs: &["root", "a cpuidle driver"],
        source: "Linux, Documentation/admin-guide/pm/cpuidle.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpu*/cpuidle/state+/disable"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("1").means("no state but polling"),
        Setting::named("on").text("0").means("every state"),
    ]),
    remedy: "boot a kernel with a cpuidle driver",
    ..FileToggle::BASE
};
