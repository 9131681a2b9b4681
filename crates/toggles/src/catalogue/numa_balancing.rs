//! Automatic NUMA balancing.

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "numa-balancing",
        title: "Automatic NUMA balancing",
        does: "The kernel unmaps pages now and then to see which node uses them, and moves pages and tasks. It costs page \
               faults, and spares remote accesses of programs that place nothing themselves.",
        needs: &["root", "CONFIG_NUMA_BALANCING"],
        source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
        ..About::SYSTEM
    },
    files: &["proc/sys/kernel/numa_balancing"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("pages stay where they are"),
        Setting::named("on").text("1").means("pages and tasks are moved"),
    ]),
    remedy: "build the kernel with CONFIG_NUMA_BALANCING",
    ..FileToggle::BASE
};
