//! How late timers of one thread and what it starts may fire, by prctl.

use host::live::{ProcessSetting, timer_slack_ns};

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability};

/// What a thread has unless somebody changed it, in ns: init's `timer_slack_ns` (Linux, init/init_task.c).
const DEFAULT_NS: u64 = 50_000;
/// The least there is, in ns; 0 means the default (prctl(2)).
const LEAST_NS: u64 = 1;

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "timer-slack",
        title: "Lateness of timers of a thread",
        does: "The kernel may fire timers of a thread late by this much, to wake the CPU less often. It costs \
               programs that sleep for short times. Real-time threads have none.",
        needs: &["Linux 2.6.28"],
        source: "prctl(2), PR_SET_TIMERSLACK",
        ..About::PROCESS
    },
    available: |_| match timer_slack_ns() {
        Ok(_) => Availability::Available,
        Err(error) => Availability::missing(format!("the kernel refuses PR_GET_TIMERSLACK ({error})"), ""),
    },
    now: |_| match timer_slack_ns() {
        Ok(DEFAULT_NS) => Some("default"),
        Ok(LEAST_NS) => Some("least"),
        _ => None,
    },
    choices: &[
        Choice::named("least")
            .means("1 ns: timers fire on time")
            .asks(|_| ProcessSetting::TimerSlackNs(LEAST_NS)),
        Choice::named("default")
            .means("50 us: timers may be gathered")
            .asks(|_| ProcessSetting::TimerSlackNs(DEFAULT_NS)),
    ],
};
