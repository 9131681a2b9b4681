//! Merging of equal pages.

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "ksm",
        title: "Merging of equal pages (KSM)",
        does: "ksmd compares pages that programs offer (virtual machines do) and merges equal ones. It costs CPU time and a \
               copy at the next write. Off stops it and keeps what is merged.",
        needs: &["root", "CONFIG_KSM"],
        source: "Linux, Documentation/admin-guide/mm/ksm.rst",
        ..About::SYSTEM
    },
    files: &["sys/kernel/mm/ksm/run"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("ksmd sleeps"),
        Setting::named("on").text("1").means("ksmd compares pages"),
    ]),
    remedy: "build the kernel with CONFIG_KSM",
    ..FileToggle::BASE
};
