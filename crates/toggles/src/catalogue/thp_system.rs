//! Transparent huge pages of the whole machine.

use crate::About;
use crate::file_toggle::{FileToggle, Setting, Settings};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "thp-system",
        title: "Transparent huge pages of the machine",
        does: "Whether the kernel backs large, aligned memory with pages of 2 MiB: never, for memory that asks, or \
               always. It holds for memory touched from now on, in all processes.",
        needs: &["root", "a kernel with transparent huge pages"],
        source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
        ..About::SYSTEM
    },
    files: &["sys/kernel/mm/transparent_hugepage/enabled"],
    settings: Settings::Fixed(&[
        Setting::named("never").text("never").means("base pages only"),
        Setting::named("madvise").text("madvise").means("for memory that asks"),
        Setting::named("always").text("always").means("for all"),
    ]),
    remedy: "build the kernel with transparent huge pages",
    ..FileToggle::BASE
};
