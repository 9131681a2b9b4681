//! Transparent huge pages of the whole machine.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "thp-system",
        title: "Transparent huge pages of the machine",
        does: "Whether the kernel backs large, aligned memory with pages of 2 MiB: never, for memory that asks, or \
               always. It holds for memory touched from now on, in all processes.",
        needs: &["root", "a kernel with transparent huge pages"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
    },
    files: &["sys/kernel/mm/transparent_hugepage/enabled"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "never",
            writes: Writes::Text("never"),
            means: "base pages only",
            risk: Risk::Reversible,
        },
        Setting {
            name: "madvise",
            writes: Writes::Text("madvise"),
            means: "for memory that asks",
            risk: Risk::Reversible,
        },
        Setting { name: "always", writes: Writes::Text("always"), means: "for all", risk: Risk::Reversible },
    ]),
    remedy: "build the kernel with transparent huge pages",
    last_only: false,
    unless: always,
};
