//! Frequencies above the nominal one, with intel_pstate.

use std::time::Duration;

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "turbo",
        title: "Turbo (intel_pstate)",
        does: "Lets CPUs rise above their nominal frequency while power and heat allow. Without it times are steadier and \
               longer.",
        needs: &["root", "the intel_pstate driver"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
        x86_only: true,
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/intel_pstate/no_turbo"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("1").means("nominal frequency at most"),
        Setting::named("on").text("0").means("above nominal when possible"),
    ]),
    remedy: "elsewhere see boost; guests have no frequency",
    ..FileToggle::BASE
};
