//! The watchdog that finds hard lockups.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes};
use crate::{About, Availability, Lifetime, Risk, Surroundings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "nmi-watchdog",
        title: "Hard-lockup watchdog",
        does: "Interrupts each CPU every few seconds by a performance counter, which other users of counters then lack.",
        needs: &["root", "a performance counter"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
    },
    files: &["proc/sys/kernel/nmi_watchdog"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting { name: "off", writes: Writes::Text("0"), means: "no watchdog", risk: Risk::Reversible },
        Setting { name: "on", writes: Writes::Text("1"), means: "a watchdog", risk: Risk::Reversible },
    ]),
    remedy: "use a machine with performance counters",
    last_only: false,
    unless: without_counters,
};

fn without_counters(around: &Surroundings) -> Option<Availability> {
    let has_counters = around.root.exists("sys/bus/event_source/devices/cpu");
    let has_counters = has_counters || around.root.exists("sys/bus/event_source/devices/cpu_core");
    (!has_counters).then(|| {
        Availability::missing(
            "there is no performance counter to drive it",
            "use a machine with performance counters",
        )
    })
}
