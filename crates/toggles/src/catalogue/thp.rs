//! Transparent huge pages of one process, by prctl.

use host::Root;
use host::live::{ProcessSetting, huge_pages_forbidden};

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability, SystemState};

/// Where the kernel shows how it manages memory: absent if /sys is not mounted, or was not recorded.
const MEMORY_FOLDER: &str = "sys/kernel/mm";
/// The kernel's policy for the whole machine.
const POLICY: &str = "sys/kernel/mm/transparent_hugepage/enabled";

/// Why no program can have huge pages here, if that is so.
pub(super) fn refused(root: &Root) -> Option<Availability> {
    match root.read(POLICY) {
        Err(_) if !root.exists(MEMORY_FOLDER) => Some(Availability::missing(
            format!("unknown whether the kernel has transparent huge pages: /{MEMORY_FOLDER} is absent"),
            "mount sysfs on /sys",
        )),
        Err(_) => {
            Some(Availability::missing("the kernel has no transparent huge pages", "build it with them"))
        }
        Ok(policy) if policy.contains("[never]") => Some(Availability::missing(
            "transparent huge pages are off for all",
            "sidestep toggles set thp-system",
        )),
        Ok(_) => None,
    }
}

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "thp",
        title: "Transparent huge pages of a process",
        does: "Lets the kernel back large, aligned memory of a process with pages of 2 MiB instead of 4 KiB, or \
               forbids it. Where the policy of the machine is madvise, it matters only to memory that asks for huge \
               pages, as the probes of sidestep do. It spares page walks and page faults.",
        needs: &["Linux 3.15", "transparent huge pages not set to never"],
        source: "prctl(2), PR_SET_THP_DISABLE",
        ..About::PROCESS
    },
    available,
    now: |_| huge_pages_forbidden().ok().map(|forbidden| if forbidden { "off" } else { "on" }),
    choices: &[
        Choice::named("off").means("base pages only").asks(|_| ProcessSetting::ForbidHugePages(true)),
        Choice::named("on")
            .means("huge pages as the policy of the machine allows")
            .asks(|_| ProcessSetting::ForbidHugePages(false)),
    ],
};

fn available(system: &SystemState) -> Availability {
    match refused(system.root) {
        Some(refused) => refused,
        None if huge_pages_forbidden().is_err() => {
            Availability::missing("the kernel refuses PR_GET_THP_DISABLE", "")
        }
        None => Availability::Available,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_kernel_that_was_not_asked_nothing_is_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let reason = || {
            let root = Root::open(folder.path()).expect("a recording");
            match refused(&root) {
                Some(Availability::Missing { reason, .. }) => reason,
                _ => String::new(),
            }
        };
        std::fs::create_dir_all(folder.path().join("proc")).expect("a folder");
        assert!(reason().starts_with("unknown whether the kernel has"), "{}", reason());
        std::fs::create_dir_all(folder.path().join(MEMORY_FOLDER)).expect("a folder");
        assert_eq!(reason(), "the kernel has no transparent huge pages");
        let policy = folder.path().join(POLICY);
        std::fs::create_dir_all(policy.parent().expect("a folder")).expect("a folder");
        std::fs::write(policy, "always [madvise] never").expect("a file");
        assert_eq!(reason(), "");
    }
}
