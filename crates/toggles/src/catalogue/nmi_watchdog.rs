//! The watchdog that finds hard lockups.

use crate::file_toggle::{FileToggle, Setting, Settings};
use crate::{About, Availability, SystemState};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "nmi-watchdog",
        title: "Hard-lockup watchdog",
        does: "Interrupts each CPU every few seconds by a performance counter, which other users of counters then lack.",
        needs: &["root", "a performance counter"],
        source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
        ..About::SYSTEM
    },
    files: &["proc/sys/kernel/nmi_watchdog"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("no watchdog"),
        Setting::named("on").text("1").means("a watchdog"),
    ]),
    remedy: "use a machine with performance counters",
    unless: without_counters,
    ..FileToggle::BASE
};

fn without_counters(system: &SystemState) -> Option<Availability> {
    let has_counters = system.root.exists("sys/bus/event_source/devices/cpu");
    let has_counters = has_counters || system.root.exists("sys/bus/event_source/devices/cpu_core");
    (!has_counters).then(|| {
        Availability::missing(
            "there is no performance counter to drive it",
            "use a machine with performance counters",
        )
    })
}
