//! Quarters of the AMD L3 cache that a core may use.

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "l3-subcaches",
        title: "L3 quarters of AMD family 15h",
        does: "A core may allocate in one quarter of the L3 cache, or in all four. It shows what cache size is worth to a \
               program.",
        needs: &["root", "AMD family 15h (Bulldozer)"],
        source: "Linux, Documentation/ABI/testing/sysfs-devices-system-cpu",
        x86_only: true,
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpu*/cache/index3/subcaches"],
    settings: Settings::Fixed(&[
        Setting::named("one").text("1").means("one quarter"),
        Setting::named("all").text("f").means("all four"),
    ]),
    remedy: "use a machine with an AMD CPU of family 15h",
    ..FileToggle::BASE
};
