//! Gathering of base pages into huge pages in the background.

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "khugepaged",
        title: "Huge pages made in the background",
        does: "khugepaged gathers base pages of running processes into huge pages. It costs CPU time at odd moments and \
               spares page walks later.",
        source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
        ..About::SYSTEM
    },
    files: &["sys/kernel/mm/transparent_hugepage/khugepaged/defrag"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("it does not reclaim to find room"),
        Setting::named("on").text("1").means("it reclaims to find room"),
    ]),
    remedy: "build the kernel with transparent huge pages",
    ..FileToggle::BASE
};
