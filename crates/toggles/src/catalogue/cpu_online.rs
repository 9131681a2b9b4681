//! The last CPU of the machine, online or not.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Setting, Settings};
use crate::{About, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "cpu-online",
        title: "The last CPU online",
        does: "Takes the CPU with the highest number offline, or back. Tasks and interrupts bound to it move; what can be bound again is.",
        needs: &["root", "CPU hot-plug"],
        risk: Risk::Disruptive,
        opens: "affinities of tasks and interrupts that were bound to the CPU",
        settle: Duration::from_millis(200),
        source: "Linux, Documentation/core-api/cpu_hotplug.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpu*/online"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("the CPU is away").risk(Risk::Disruptive),
        Setting::named("on").text("1").means("the CPU is there"),
    ]),
    remedy: "boot a kernel with CONFIG_HOTPLUG_CPU",
    last_only: true,
    ..FileToggle::BASE
};
