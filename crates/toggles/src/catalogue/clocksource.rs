//! The clock that the kernel reads for all.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "clocksource",
        title: "The kernel's clock source",
        does: "Every reading of the time goes to this clock: the time-stamp counter in 10 to 40 ns, a hypervisor's \
               page in little more, HPET and the ACPI timer in a microsecond and a system call.",
        needs: &["root", "more than one clock source"],
        // The switch itself took up to 1.4 ms; the vDSO follows with the next timer tick, at most 10 ms at 100 Hz.
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/timers/timekeeping.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/clocksource/clocksource0/current_clocksource"],
    settings: Settings::ListedIn("available_clocksource", "a clock source that the kernel offers"),
    remedy: "boot a kernel that offers clock sources",
    ..FileToggle::BASE
};
