//! Slowing down of programs whose atomic operations cross a cache line.

use crate::file_toggle::{FileToggle, Setting, Settings};
use crate::{About, Availability, SystemState};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "split-lock",
        title: "Split locks slowed down",
        does: "A program that locks across two cache lines stops all of the machine; the kernel makes it wait and lets one such \
               program run at a time. It costs that program dear, and spares all others.",
        needs: &["root", "a CPU with split_lock_detect"],
        source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
        x86_only: true,
        ..About::SYSTEM
    },
    files: &["proc/sys/kernel/split_lock_mitigate"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("a warning only"),
        Setting::named("on").text("1").means("the program waits"),
    ]),
    remedy: "use a CPU whose flags hold split_lock_detect or bus_lock_detect",
    unless: without_hardware,
    ..FileToggle::BASE
};

fn without_hardware(system: &SystemState) -> Option<Availability> {
    let identity = &system.machine.identity;
    let detects = ["split_lock_detect", "bus_lock_detect"].iter().any(|flag| identity.has_flag(flag));
    let remedy = "use a CPU whose flags hold split_lock_detect or bus_lock_detect";
    (!detects).then(|| Availability::missing("this CPU does not notice split locks", remedy))
}
