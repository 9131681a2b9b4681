//! Pre-emption by waking tasks (a feature of the scheduler).

use crate::About;
use crate::file_toggle::{FileToggle, Form, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "sched-wakeup-preemption",
        title: "Pre-emption by waking tasks",
        does: "A task that wakes may push the running one off its CPU at once, or waits for the next tick.",
        needs: &["root", "debugfs, without lockdown"],
        source: "Linux, kernel/sched/features.h",
        ..About::SYSTEM
    },
    files: &["sys/kernel/debug/sched/features", "sys/kernel/debug/sched_features"],
    form: Form::Word("WAKEUP_PREEMPTION"),
    settings: Settings::Fixed(&[
        Setting::named("off").no_word().means("without"),
        Setting::named("on").word().means("with"),
    ]),
    remedy: "mount -t debugfs debugfs /sys/kernel/debug, without lockdown",
    ..FileToggle::BASE
};
