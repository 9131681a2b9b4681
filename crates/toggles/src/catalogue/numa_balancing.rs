//! Automatic NUMA balancing.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "numa-balancing",
        title: "Automatic NUMA balancing",
        does: "The kernel unmaps pages now and then to see which node uses them, and moves pages and tasks. It costs page \
               faults, and spares remote accesses of programs that place nothing themselves.",
        needs: &["root", "CONFIG_NUMA_BALANCING"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
    },
    files: &["proc/sys/kernel/numa_balancing"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("0"),
            means: "pages stay where they are",
            risk: Risk::Reversible,
        },
        Setting {
            name: "on",
            writes: Writes::Text("1"),
            means: "pages and tasks are moved",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "build the kernel with CONFIG_NUMA_BALANCING",
    last_only: false,
    unless: always,
};
