//! Huge pages for the heap of a program that is started, by a tunable of glibc.

use host::live::ProcessSetting;

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability};

/// The tunable.
const TUNABLE: &str = "glibc.malloc.hugetlb";

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "huge-malloc",
        title: "Huge pages for malloc of a program",
        does: "Makes malloc of a program that is started ask for huge pages (glibc.malloc.hugetlb=1). It spares page walks in \
               programs with a large heap. A statically linked program, or one with its own allocator, does not read it.",
        needs: &["glibc 2.35 in the program", "transparent huge pages not set to never"],
        source: "The GNU C Library manual, Memory Allocation Tunables",
        ..About::PROCESS
    },
    available: |system| super::thp::refused(system.root).unwrap_or(Availability::Available),
    now: |_| None,
    choices: &[
        Choice::named("off")
            .means("the heap takes what the policy gives")
            .asks(|_| ProcessSetting::GlibcTunable(TUNABLE, "0")),
        Choice::named("on")
            .means("malloc asks for huge pages")
            .asks(|_| ProcessSetting::GlibcTunable(TUNABLE, "1")),
    ],
};
