//! Pre-emption by waking tasks (a feature of the scheduler).

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "sched-wakeup-preemption",
        title: "Pre-emption by waking tasks",
        does: "A task that wakes may push the running one off its CPU at once, or waits for the next tick.",
        needs: &["root", "debugfs, without lockdown"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, kernel/sched/features.h",
    },
    files: &["sys/kernel/debug/sched/features", "sys/kernel/debug/sched_features"],
    form: Form::Word("WAKEUP_PREEMPTION"),
    settings: Settings::Fixed(&[
        Setting { name: "off", writes: Writes::NoWord, means: "without", risk: Risk::Reversible },
        Setting { name: "on", writes: Writes::Word, means: "with", risk: Risk::Reversible },
    ]),
    remedy: "mount -t debugfs debugfs /sys/kernel/debug, without lockdown",
    last_only: false,
    unless: always,
};
