//! Merging of equal pages.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "ksm",
        title: "Merging of equal pages (KSM)",
        does: "ksmd compares pages that programs offer (virtual machines do) and merges equal ones. It costs CPU time and a \
               copy at the next write. Off stops it and keeps what is merged.",
        needs: &["root", "CONFIG_KSM"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/mm/ksm.rst",
    },
    files: &["sys/kernel/mm/ksm/run"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting { name: "off", writes: Writes::Text("0"), means: "ksmd sleeps", risk: Risk::Reversible },
        Setting {
            name: "on",
            writes: Writes::Text("1"),
            means: "ksmd compares pages",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "build the kernel with CONFIG_KSM",
    last_only: false,
    unless: always,
};
