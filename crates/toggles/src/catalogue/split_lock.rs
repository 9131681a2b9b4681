//! Slowing down of programs whose atomic operations cross a cache line.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes};
use crate::{About, Availability, Lifetime, Risk, Surroundings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "split-lock",
        title: "Split locks slowed down",
        does: "A program that locks across two cache lines stops all of the machine; the kernel makes it wait and lets one such \
               program run at a time. It costs that program dear, and spares all others.",
        needs: &["root", "a CPU with split_lock_detect"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
    },
    files: &["proc/sys/kernel/split_lock_mitigate"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting { name: "off", writes: Writes::Text("0"), means: "a warning only", risk: Risk::Reversible },
        Setting { name: "on", writes: Writes::Text("1"), means: "the program waits", risk: Risk::Reversible },
    ]),
    remedy: "use a CPU whose flags hold split_lock_detect or bus_lock_detect",
    last_only: false,
    unless: without_hardware,
};

fn without_hardware(around: &Surroundings) -> Option<Availability> {
    let identity = &around.machine.identity;
    let detects = ["split_lock_detect", "bus_lock_detect"].iter().any(|flag| identity.has_flag(flag));
    let remedy = "use a CPU whose flags hold split_lock_detect or bus_lock_detect";
    (!detects).then(|| Availability::missing("this CPU does not notice split locks", remedy))
}
