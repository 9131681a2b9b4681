//! Gathering of base pages into huge pages in the background.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "khugepaged",
        title: "Huge pages made in the background",
        does: "khugepaged gathers base pages of running processes into huge pages. It costs CPU time at odd moments and \
               spares page walks later.",
        needs: &["root"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
    },
    files: &["sys/kernel/mm/transparent_hugepage/khugepaged/defrag"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("0"),
            means: "it does not reclaim to find room",
            risk: Risk::Reversible,
        },
        Setting {
            name: "on",
            writes: Writes::Text("1"),
            means: "it reclaims to find room",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "build the kernel with transparent huge pages",
    last_only: false,
    unless: always,
};
