//! Wake-ups handed to the other CPU (a feature of the scheduler).

use super::sched_wakeup_preemption;
use crate::About;
use crate::file_toggle::{FileToggle, Form};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "sched-ttwu-queue",
        title: "Wake-ups handed to the other CPU",
        does: "A wake-up of a task on another CPU is handed to that CPU by an interrupt, or its run queue is locked from here.",
        ..sched_wakeup_preemption::TOGGLE.about
    },
    form: Form::Word("TTWU_QUEUE"),
    ..sched_wakeup_preemption::TOGGLE
};
