//! Transparent huge pages of one process, by prctl.

use std::time::Duration;

use host::live::{ProcessSetting, huge_pages_forbidden};

use crate::process_toggle::{Asks, Choice, ProcessToggle};
use crate::{About, Availability, Lifetime, Risk, Surroundings};

/// The kernel's policy for the whole machine.
const POLICY: &str = "sys/kernel/mm/transparent_hugepage/enabled";

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "thp",
        title: "Transparent huge pages of a process",
        does: "Lets the kernel back large, aligned memory of a process with pages of 2 MiB instead of 4 KiB, or \
               forbids it. Where the policy of the machine is madvise, it matters only to memory that asks for huge \
               pages, as the probes of sidestep do. It spares page walks and page faults.",
        needs: &["Linux 3.15", "transparent huge pages not set to never"],
        risk: Risk::Process,
        opens: "",
        lifetime: Lifetime::Process,
        settle: Duration::ZERO,
        source: "prctl(2), PR_SET_THP_DISABLE",
    },
    available,
    now: |_| huge_pages_forbidden().ok().map(|forbidden| if forbidden { "off" } else { "on" }),
    choices: &[
        Choice {
            name: "off",
            means: "base pages only",
            asks: |_| Asks::Settings(vec![ProcessSetting::ForbidHugePages(true)]),
        },
        Choice {
            name: "on",
            means: "huge pages as the policy of the machine allows",
            asks: |_| Asks::Settings(vec![ProcessSetting::ForbidHugePages(false)]),
        },
    ],
};

fn available(around: &Surroundings) -> Availability {
    match around.root.read(POLICY) {
        Err(_) => Availability::missing("the kernel has no transparent huge pages", "build it with them"),
        Ok(policy) if policy.contains("[never]") => {
            Availability::missing("transparent huge pages are off for all", "sidestep toggles set thp-system")
        }
        Ok(_) if huge_pages_forbidden().is_err() => {
            Availability::missing("the kernel refuses PR_GET_THP_DISABLE", "")
        }
        Ok(_) => Availability::Available,
    }
}
