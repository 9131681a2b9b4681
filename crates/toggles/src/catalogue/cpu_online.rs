//! The last CPU of the machine, online or not.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "cpu-online",
        title: "The last CPU online",
        does: "Takes the CPU with the highest number offline, or back. Tasks and interrupts bound to it move; what can be bound again is.",
        needs: &["root", "CPU hot-plug"],
        risk: Risk::Disruptive,
        opens: "affinities of tasks and interrupts that were bound to the CPU",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(200),
        source: "Linux, Documentation/core-api/cpu_hotplug.rst",
    },
    files: &["sys/devices/system/cpu/cpu*/online"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting { name: "off", writes: Writes::Text("0"), means: "the CPU is away", risk: Risk::Disruptive },
        Setting { name: "on", writes: Writes::Text("1"), means: "the CPU is there", risk: Risk::Reversible },
    ]),
    remedy: "boot a kernel with CONFIG_HOTPLUG_CPU",
    last_only: true,
    unless: always,
};
