//! Wake-ups handed to the other CPU (a feature of the scheduler).

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "sched-ttwu-queue",
        title: "Wake-ups handed to the other CPU",
        does: "A wake-up of a task on another CPU is handed to that CPU by an interrupt, or its run queue is locked from here.",
        needs: &["root", "debugfs, without lockdown"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, kernel/sched/features.h",
    },
    files: &["sys/kernel/debug/sched/features", "sys/kernel/debug/sched_features"],
    form: Form::Word("TTWU_QUEUE"),
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("NO_TTWU_QUEUE"),
            means: "without",
            risk: Risk::Reversible,
        },
        Setting { name: "on", writes: Writes::Text("TTWU_QUEUE"), means: "with", risk: Risk::Reversible },
    ]),
    remedy: "mount -t debugfs debugfs /sys/kernel/debug, without lockdown",
    last_only: false,
    unless: always,
};
