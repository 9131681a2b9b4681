//! Frequencies above the nominal one, where cpufreq has a switch for it.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "boost",
        title: "Frequency boost (cpufreq)",
        does: "Lets CPUs rise above their nominal frequency while power and heat allow. Without it times are steadier and \
               longer.",
        needs: &["root", "a cpufreq driver with boost"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpufreq/boost"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("nominal frequency at most"),
        Setting::named("on").text("1").means("above nominal when possible"),
    ]),
    remedy: "on Intel see turbo; guests have no frequency",
    ..FileToggle::BASE
};
