//! Quarters of the AMD L3 cache that a core may use.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "l3-subcaches",
        title: "L3 quarters of AMD family 15h",
        does: "A core may allocate in one quarter of the L3 cache, or in all four. It shows what cache size is worth to a \
               program.",
        needs: &["root", "AMD family 15h (Bulldozer)"],
        risk: Risk::Reversible,
        opens: "",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/ABI/testing/sysfs-devices-system-cpu",
    },
    files: &["sys/devices/system/cpu/cpu*/cache/index3/subcaches"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting { name: "one", writes: Writes::Text("1"), means: "one quarter", risk: Risk::Reversible },
        Setting { name: "all", writes: Writes::Text("f"), means: "all four", risk: Risk::Reversible },
    ]),
    remedy: "use a machine with an AMD CPU of family 15h",
    last_only: false,
    unless: always,
};
