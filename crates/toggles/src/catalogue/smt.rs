//! Simultaneous multithreading.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Setting, Settings};
use crate::{About, Availability, Risk, SystemState};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "smt",
        title: "Simultaneous multithreading",
        does: "Takes the second and further threads of each core offline, or back. Tasks and interrupts bound to them move; what can be bound again is.",
        needs: &["root", "a CPU with SMT"],
        risk: Risk::Disruptive,
        opens: "affinities of tasks and interrupts that were bound to the siblings",
        settle: Duration::from_millis(200),
        source: "Linux, Documentation/ABI/testing/sysfs-devices-system-cpu",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/smt/control"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("off").means("one thread per core").risk(Risk::Disruptive),
        Setting::named("on").text("on").means("all threads"),
    ]),
    remedy: "boot Linux 4.19 or later with CONFIG_HOTPLUG_SMT",
    unless: without_siblings,
    ..FileToggle::BASE
};

/// The other states that the kernel knows: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu.
fn without_siblings(system: &SystemState) -> Option<Availability> {
    let state = system.root.read("sys/devices/system/cpu/smt/control").unwrap_or_default();
    let remedy = match state.as_str() {
        "on" | "off" => return None,
        "forceoff" => "boot without nosmt=force",
        "notimplemented" => "boot a kernel with CONFIG_HOTPLUG_SMT",
        // The CPU has one thread per core, or the firmware shows only one: nothing that is typed here helps.
        _ => "",
    };
    Some(Availability::missing(format!("the kernel says {state}"), remedy))
}
