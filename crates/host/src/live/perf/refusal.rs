//! Why the kernel refuses `perf_event_open`: its setting, a filter before it, or a program that is not the caller's.
//!
//! The kernel and a filter of system calls answer with the same numbers, so what the setting allows the caller is read and compared. That
//! `perf_event_paranoid` is there means that the kernel has the call, perf_event_open(2).

use std::fmt;

use crate::Root;
use crate::root::value_of;

/// CAP_SYS_ADMIN and CAP_PERFMON, include/uapi/linux/capability.h: with either the kernel's setting does not count.
const CAPABILITIES: u64 = 1 << 21 | 1 << 38;
/// What `uid_map` holds outside of user namespaces, user_namespaces(7): capabilities of others count for nothing here.
const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];
/// SECCOMP_MODE_FILTER, include/uapi/linux/seccomp.h, as `Seccomp` of proc_pid_status(5) shows it.
const FILTERED: &str = "2";
const SETTING: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Why `perf_event_open` is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// By the kernel's setting.
    Setting {
        /// `kernel.perf_event_paranoid`.
        paranoid: i32,
        /// What it may be at most.
        most: i32,
    },
    /// The kernel would allow it: something before it does not.
    Filter {
        /// `kernel.perf_event_paranoid`.
        paranoid: i32,
        /// True if it is too large and the caller's capabilities overrule it.
        is_overruled: bool,
        /// True if a seccomp filter is on.
        is_seccomp: bool,
    },
    /// The caller may watch himself, but not this program.
    NotOurs,
    /// The kernel has no performance events.
    Missing,
    /// The setting cannot be read.
    Unknown,
}

/// What is known of the caller and his kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Permission {
    /// The setting; `None` if it cannot be read.
    paranoid: Option<i32>,
    /// There is no such setting.
    is_missing: bool,
    /// The setting does not count for the caller.
    is_capable: bool,
    is_seccomp: bool,
}

impl Permission {
    /// Of this process, or of one in a folder of recorded files.
    pub(super) fn read(root: &Root) -> Self {
        let status = root.read("/proc/self/status").unwrap_or_default();
        let held =
            value_of(&status, "CapEff").and_then(|held| u64::from_str_radix(held, 16).ok()).unwrap_or(0);
        let users = root.read("/proc/self/uid_map").unwrap_or_default();
        Self {
            paranoid: root.read(SETTING).ok().and_then(|text| text.parse().ok()),
            is_missing: !root.exists(SETTING),
            is_capable: held & CAPABILITIES != 0 && users.split_whitespace().eq(ALL_USERS),
            is_seccomp: value_of(&status, "Seccomp") == Some(FILTERED),
        }
    }

    /// Why something was refused that the setting allows everybody up to `most`; `is_own_allowed` says of a program that is named whether the caller
    /// may watch himself.
    pub(super) fn refusal(&self, most: i32, is_own_allowed: Option<bool>) -> Refusal {
        match self.paranoid {
            _ if self.is_missing => Refusal::Missing,
            None => Refusal::Unknown,
            Some(paranoid) if paranoid > most && !self.is_capable => Refusal::Setting { paranoid, most },
            Some(_) if is_own_allowed == Some(true) => Refusal::NotOurs,
            Some(paranoid) => {
                Refusal::Filter { paranoid, is_overruled: paranoid > most, is_seccomp: self.is_seccomp }
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { paranoid, most } => write!(
                to,
                "kernel.perf_event_paranoid is {paranoid}; {most} or less is needed, or CAP_PERFMON, which root has (in a container: docker run --cap-add PERFMON)"
            ),
            Self::Filter { paranoid, is_overruled, is_seccomp } => {
                let allows = if *is_overruled { ", which CAP_PERFMON overrules" } else { ", which allows it" };
                let who = if *is_seccomp {
                    "so a filter refuses it (seccomp is on here, as in most containers: docker run --cap-add PERFMON lets it through)"
                } else {
                    "so a filter refuses it (no seccomp is on here, so it may be a security module: SELinux or another)"
                };
                write!(to, "kernel.perf_event_paranoid is {paranoid}{allows}, {who}")
            }
            Self::NotOurs => {
                to.write_str("the program must be yours, and let itself be traced (PR_SET_DUMPABLE)")
            }
            Self::Missing => to.write_str("this kernel has no performance events (CONFIG_PERF_EVENTS)"),
            Self::Unknown => to.write_str(
                "kernel.perf_event_paranoid cannot be read; 2 or less is needed, no filter (seccomp), and the program must be yours",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A process as its kernel shows it.
    fn permission(paranoid: Option<&str>, capabilities: &str, users: &str, seccomp: &str) -> Permission {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("room");
            fs::write(path, text).expect("room");
        };
        write("proc/self/status", &format!("Name:\tx\nCapEff:\t{capabilities}\nSeccomp:\t{seccomp}\n"));
        write("proc/self/uid_map", users);
        if let Some(paranoid) = paranoid {
            write("proc/sys/kernel/perf_event_paranoid", paranoid);
        }
        Permission::read(&Root::open(folder.path()).expect("a machine"))
    }

    #[test]
    fn a_setting_is_blamed_only_if_it_forbids_what_was_asked_for() {
        const NOBODY: &str = "0000000000000000";
        const ROOT: &str = "000001ffffffffff";
        const ALL: &str = "         0          0 4294967295\n";
        const SOME: &str = "         0       1000          1\n";
        let filter =
            |paranoid, is_overruled, is_seccomp| Refusal::Filter { paranoid, is_overruled, is_seccomp };
        let check = |seen: [&str; 4], most, own, expected: Refusal, words: &str| {
            let found = permission(Some(seen[0]), seen[1], seen[2], seen[3]).refusal(most, own);
            assert_eq!(found, expected, "{seen:?}");
            assert!(found.to_string().contains(words), "{found}");
        };
        let setting = Refusal::Setting { paranoid: 3, most: 2 };
        check(["3\n", NOBODY, ALL, "0"], 2, None, setting, "is 3; 2 or less is needed, or CAP_PERFMON");
        check(
            ["2\n", NOBODY, ALL, "2"],
            2,
            None,
            filter(2, false, true),
            "is 2, which allows it, so a filter",
        );
        check(["-1\n", NOBODY, ALL, "0"], 2, None, filter(-1, false, false), "no seccomp is on here");
        check(["4\n", ROOT, ALL, "2"], 2, None, filter(4, true, true), "which CAP_PERFMON overrules");
        // Who is root in a container of his own is not for the kernel.
        check(["3\n", ROOT, SOME, "2"], 2, None, setting, "is 3; 2 or less");
        let wakes = Refusal::Setting { paranoid: 2, most: -1 };
        check(["2\n", NOBODY, ALL, "0"], -1, None, wakes, "is 2; -1 or less is needed");
        check(["2\n", NOBODY, ALL, "0"], 2, Some(true), Refusal::NotOurs, "must be yours");
        check(["2\n", NOBODY, ALL, "2"], 2, Some(false), filter(2, false, true), "seccomp is on here");
        check(["many\n", NOBODY, ALL, "0"], 2, None, Refusal::Unknown, "cannot be read");
        assert_eq!(permission(None, ROOT, ALL, "0").refusal(2, None), Refusal::Missing);
    }
}
