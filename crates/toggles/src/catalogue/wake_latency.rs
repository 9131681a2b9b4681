//! The longest wake-up that CPUs may take, while a process asks for less.

use host::live::{ProcessSetting, is_writable, wake_latency_us};

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability, Risk, User};

/// `PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, Linux, include/linux/pm_qos.h: 2000 s.
const NO_LIMIT_US: u32 = 2_000_000_000;

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "cpu-dma-latency",
        title: "Wake-up latency of all CPUs",
        does: "While a process holds the request, no CPU enters an idle state that takes longer to leave; 0 keeps all awake. It \
               costs power and the turbo of others, and spares wake-ups. A crash ends the request.",
        needs: &["root", "a cpuidle driver, or it moves nothing"],
        risk: Risk::Reversible,
        source: "Linux, Documentation/power/pm_qos_interface.rst",
        ..About::PROCESS
    },
    available: |system| {
        if system.user != User::Root {
            return Availability::missing("it needs root", "run as root");
        }
        if !is_writable("dev/cpu_dma_latency") {
            return Availability::missing("the kernel has no /dev/cpu_dma_latency", "build it with CPU_IDLE");
        }
        Availability::Available
    },
    now: |_| match wake_latency_us() {
        Ok(0) => Some("awake"),
        Ok(NO_LIMIT_US) => Some("any"),
        _ => None,
    },
    choices: &[
        Choice::named("any").means("as deep as the governor likes"),
        Choice::named("awake").means("no idle state at all").asks(|_| ProcessSetting::WakeLatencyUs(0)),
    ],
};
