//! Pages of the buffers of our own probes: base pages, or 2 MiB pages by madvise.

use host::live::{PageRequest, huge_pages_forbidden};

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability};

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "buffer-pages",
        title: "Page size of probe buffers",
        does: "Asks the kernel by madvise for base or huge pages for the buffers of the probes. It moves what walks page \
               tables: the random chase over large blocks. It does nothing to a program of yours; see thp for that.",
        needs: &["transparent huge pages not set to never"],
        source: "madvise(2), MADV_HUGEPAGE",
        ..About::PROCESS
    },
    available: |system| match super::thp::refused(system.root) {
        Some(refused) => refused,
        None if huge_pages_forbidden().unwrap_or(false) => {
            Availability::missing("this process may not have huge pages (PR_SET_THP_DISABLE)", "start anew")
        }
        None => Availability::Available,
    },
    now: |_| None,
    choices: &[
        Choice::named("base").means("pages of 4 KiB").pages(PageRequest::Base),
        Choice::named("huge").means("pages of 2 MiB").pages(PageRequest::Huge),
    ],
};
