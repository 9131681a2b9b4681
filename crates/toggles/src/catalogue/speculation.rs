//! What the two speculation toggles share: reading the kernel's answer.

use host::live::{Speculation, speculation};

use crate::Availability;

/// Whether the calling thread may switch it; `boot` is the option that leaves the choice to threads.
pub(super) fn available(kind: Speculation, boot: &str) -> Availability {
    match speculation(kind) {
        Err(error) => Availability::missing(format!("the kernel has no such control ({error})"), ""),
        Ok(state) if state.switchable => Availability::Available,
        Ok(state) if state.not_affected => {
            Availability::missing("the kernel says that this CPU is not affected", "")
        }
        Ok(state) if state.latched => {
            Availability::missing("it is forced on for this process, which cannot be undone", "start anew")
        }
        Ok(state) => {
            let held = if state.stopped { "on" } else { "off" };
            Availability::missing(
                format!("the kernel keeps it {held} for all processes"),
                format!("boot with {boot}, on a CPU or hypervisor that offers the control"),
            )
        }
    }
}

/// `on` or `off` in the calling thread, which a new process inherits.
pub(super) fn now(kind: Speculation) -> Option<&'static str> {
    speculation(kind).ok().map(|state| if state.stopped { "on" } else { "off" })
}
