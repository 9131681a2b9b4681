//! Settings that end with the thread or process they are made for: nothing has to be undone after a crash.
//!
//! A setting is made in the calling thread ([`SettingGuard`], for probes inside this process) or in a child between fork
//! and exec ([`prepare`], for a user's program, which inherits it over exec).

use std::ffi::OsString;
use std::io;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt;
use std::process::Command;

use machine::{CpuSet, NodeId};

use super::affinity::{allowed_cpus, set_affinity};
use super::memory_policy::{MemoryPolicy, current_memory_policy, set_memory_policy};
use super::speculation::{Speculation, speculation, stop_speculation};
use super::wake_latency::{WakeLatency, hold_in_child};
use crate::answer::{done, number};

/// `PR_GET_THP_DISABLE`, include/uapi/linux/prctl.h.
const PR_GET_THP_DISABLE: libc::c_int = 42;
/// `PR_SET_THP_DISABLE`, include/uapi/linux/prctl.h.
const PR_SET_THP_DISABLE: libc::c_int = 41;

/// The environment variable glibc reads its tunables from.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessSetting {
    /// Stops (`true`) or allows a kind of speculation, by prctl, in a thread and what it starts.
    StopSpeculation(Speculation, bool),
    /// Forbids (`true`) transparent huge pages to the whole process, by prctl.
    ForbidHugePages(bool),
    /// How late a timer of the thread may fire, in nanoseconds, by prctl.
    TimerSlackNs(u64),
    /// The CPUs the thread may run on.
    Affinity(CpuSet),
    /// Where new pages come from.
    Memory(MemoryPolicy),
    /// One tunable of glibc (`name`, `value`), for a program that is started.
    GlibcTunable(&'static str, &'static str),
    /// The longest wake-up of any CPU, in microseconds, while the holder lives (`/dev/cpu_dma_latency`; root).
    WakeLatencyUs(u32),
}

/// Why a setting could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The kernel refused.
    #[error("cannot {what}: {source}; sidestep toggles says what can be switched here")]
    Refused {
        /// What was to be done.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// It exists only for programs that are started.
    #[error("{what} is read when a program starts; give a command to run")]
    ChildOnly {
        /// The setting.
        what: &'static str,
    },
}

impl ProcessSetting {
    /// False for what is read when a program starts, and so cannot be made in a running thread.
    pub fn fits_a_thread(&self) -> bool {
        !matches!(self, Self::GlibcTunable(..))
    }

    /// True if this decides about the same as the other, so that the one made later rules.
    pub fn overrules(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::StopSpeculation(kind, _), Self::StopSpeculation(other, _)) => kind == other,
            (Self::GlibcTunable(name, _), Self::GlibcTunable(other, _)) => name == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// What making it does: `set the timer slack`.
    pub fn what(&self) -> &'static str {
        match self {
            Self::StopSpeculation(Speculation::StoreBypass, _) => "switch store bypass by prctl",
            Self::StopSpeculation(Speculation::IndirectBranch, _) => {
                "switch indirect-branch speculation by prctl"
            }
            Self::ForbidHugePages(_) => "switch transparent huge pages by prctl",
            Self::TimerSlackNs(_) => "set the timer slack",
            Self::Affinity(_) => "set the CPU affinity",
            Self::Memory(_) => "set the memory policy",
            Self::GlibcTunable(..) => "a glibc tunable",
            Self::WakeLatencyUs(_) => "hold /dev/cpu_dma_latency",
        }
    }

    /// Makes the setting in the calling thread. Between fork and exec only system calls are made here, and only
    /// memory of the setting itself is read.
    fn make(&self) -> io::Result<()> {
        match self {
            Self::StopSpeculation(kind, stop) => stop_speculation(*kind, *stop),
            Self::ForbidHugePages(forbid) => forbid_huge_pages(*forbid),
            Self::TimerSlackNs(slack_ns) => set_timer_slack(*slack_ns),
            Self::Affinity(cpus) => set_affinity(cpus),
            Self::Memory(policy) => set_memory_policy(policy),
            Self::GlibcTunable(..) => Ok(()),
            Self::WakeLatencyUs(latency_us) => hold_in_child(*latency_us),
        }
    }

    /// What the thread has now in place of this setting: making that undoes this.
    fn present(&self) -> io::Result<Self> {
        Ok(match self {
            Self::StopSpeculation(kind, _) => Self::StopSpeculation(*kind, speculation(*kind)?.stopped),
            Self::ForbidHugePages(_) => Self::ForbidHugePages(huge_pages_forbidden()?),
            Self::TimerSlackNs(_) => Self::TimerSlackNs(timer_slack_ns()?),
            Self::Affinity(_) => Self::Affinity(allowed_cpus()),
            Self::Memory(_) => Self::Memory(current_memory_policy()?),
            Self::GlibcTunable(..) | Self::WakeLatencyUs(_) => self.clone(),
        })
    }
}

/// Forbids or allows transparent huge pages to this process, for mappings touched from now on.
///
/// # Errors
/// What the kernel said.
pub fn forbid_huge_pages(forbid: bool) -> io::Result<()> {
    let zero: libc::c_ulong = 0;
    // SAFETY: this prctl takes numbers only.
    done(unsafe { libc::prctl(PR_SET_THP_DISABLE, libc::c_ulong::from(forbid), zero, zero, zero) })
}

/// True if this process may not have transparent huge pages.
///
/// # Errors
/// What the kernel said.
pub fn huge_pages_forbidden() -> io::Result<bool> {
    let zero: libc::c_ulong = 0;
    // SAFETY: this prctl takes numbers only.
    Ok(number(unsafe { libc::prctl(PR_GET_THP_DISABLE, zero, zero, zero, zero) })? & 1 != 0)
}

/// How late a timer of the calling thread may fire, in nanoseconds.
///
/// # Errors
/// What the kernel said.
pub fn timer_slack_ns() -> io::Result<u64> {
    // SAFETY: this prctl takes no arguments.
    Ok(number(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) })? as u64)
}

fn set_timer_slack(slack_ns: u64) -> io::Result<()> {
    // SAFETY: this prctl takes numbers only.
    done(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns as libc::c_ulong) })
}

/// Settings made in the calling thread; dropping this makes what was before.
///
/// It stays in the thread that made it. Pages already given are not taken back.
#[derive(Debug)]
pub struct SettingGuard {
    before: Vec<ProcessSetting>,
    latency: Option<WakeLatency>,
    _not_send: PhantomData<*const ()>,
}

impl SettingGuard {
    /// Makes all settings in order, or none.
    ///
    /// # Errors
    /// `Refused` by the kernel, `ChildOnly` for what only a new program reads.
    pub fn make(settings: &[ProcessSetting]) -> Result<Self, SettingError> {
        let mut guard = Self { before: Vec::new(), latency: None, _not_send: PhantomData };
        for setting in settings {
            let what = setting.what();
            let refused = |source| SettingError::Refused { what, source };
            match setting {
                ProcessSetting::GlibcTunable(..) => return Err(SettingError::ChildOnly { what }),
                ProcessSetting::WakeLatencyUs(latency_us) => {
                    guard.latency = Some(WakeLatency::hold(*latency_us).map_err(refused)?);
                }
                _ => {
                    let before = setting.present().map_err(refused)?;
                    setting.make().map_err(refused)?;
                    guard.before.push(before);
                }
            }
        }
        Ok(guard)
    }
}

impl Drop for SettingGuard {
    fn drop(&mut self) {
        for setting in self.before.iter().rev() {
            // The kernel took the same value from us before; a CPU gone offline meanwhile is no fault of ours.
            let _ = setting.make();
        }
    }
}

/// The command, when started, runs with these settings, and so does all that it starts.
///
/// A setting that the kernel refuses makes starting the command fail with the kernel's error.
pub fn prepare(command: &mut Command, settings: &[ProcessSetting]) {
    tunables_for(command, settings);
    let settings: Vec<ProcessSetting> =
        settings.iter().filter(|setting| setting.fits_a_thread()).cloned().collect();
    if settings.is_empty() {
        return;
    }
    let make_all = move || settings.iter().try_for_each(ProcessSetting::make);
    // SAFETY: between fork and exec `make` only makes system calls and reads memory that was allocated before;
    // it allocates nothing and takes no lock.
    unsafe { command.pre_exec(make_all) };
}

/// Gives the command the settings that a program reads from its environment.
pub(super) fn tunables_for(command: &mut Command, settings: &[ProcessSetting]) {
    let tunables: Vec<String> = settings
        .iter()
        .filter_map(|setting| match setting {
            ProcessSetting::GlibcTunable(name, value) => Some(format!("{name}={value}")),
            _ => None,
        })
        .collect();
    if !tunables.is_empty() {
        command.env(TUNABLES, with_tunables(std::env::var_os(TUNABLES), &tunables));
    }
}

fn with_tunables(before: Option<OsString>, tunables: &[String]) -> OsString {
    let mut all = before.filter(|text| !text.is_empty()).unwrap_or_default();
    for tunable in tunables {
        if !all.is_empty() {
            all.push(":");
        }
        all.push(tunable);
    }
    all
}

/// All nodes of a list as a memory policy takes them.
pub fn node_mask(nodes: &[NodeId]) -> u64 {
    nodes.iter().filter(|node| node.0 < u64::BITS).fold(0, |mask, node| mask | 1 << node.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().expect("the thread ends")
    }

    #[test]
    fn a_setting_of_a_thread_ends_with_its_guard() {
        in_thread(|| {
            let slack_ns = timer_slack_ns().expect("every Linux has timer slack");
            let cpu = allowed_cpus().first().expect("a CPU");
            let settings = [
                ProcessSetting::TimerSlackNs(123_456),
                ProcessSetting::Affinity([cpu].into_iter().collect()),
            ];
            let before = allowed_cpus();
            let guard = SettingGuard::make(&settings).expect("both need no privilege");
            assert_eq!(timer_slack_ns().ok(), Some(123_456));
            assert_eq!(allowed_cpus().len(), 1);
            drop(guard);
            assert_eq!(timer_slack_ns().ok(), Some(slack_ns));
            assert_eq!(allowed_cpus(), before);
        });
    }

    #[test]
    fn a_refused_setting_undoes_those_before_it() {
        in_thread(|| {
            let slack_ns = timer_slack_ns().expect("every Linux has timer slack");
            let settings = [
                ProcessSetting::TimerSlackNs(777),
                ProcessSetting::GlibcTunable("glibc.malloc.hugetlb", "1"),
            ];
            let error = SettingGuard::make(&settings).expect_err("only a program reads tunables");
            assert!(error.to_string().contains("give a command"), "{error}");
            assert_eq!(timer_slack_ns().ok(), Some(slack_ns));
        });
    }

    #[test]
    fn a_child_runs_with_the_settings_and_this_process_without() {
        let mut command = Command::new("cat");
        command.arg("/proc/self/status");
        let cpu = allowed_cpus().first().expect("a CPU");
        prepare(
            &mut command,
            &[
                ProcessSetting::ForbidHugePages(true),
                ProcessSetting::Affinity([cpu].into_iter().collect()),
                ProcessSetting::TimerSlackNs(5),
            ],
        );
        let output = command.output().expect("cat runs");
        let status = String::from_utf8(output.stdout).expect("text");
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
        };
        // The field is absent before Linux 5.0, then nothing can be said.
        assert!(field("THP_enabled:").is_none_or(|value| value == "0"), "{status}");
        assert_eq!(field("Cpus_allowed_list:"), Some(cpu.0.to_string()));
        assert_eq!(huge_pages_forbidden().ok(), Some(false));
    }

    #[test]
    fn tunables_join_those_that_are_there() {
        let tunables = ["a=1".to_owned(), "b=2".to_owned()];
        assert_eq!(with_tunables(None, &tunables), "a=1:b=2");
        assert_eq!(with_tunables(Some("c=3".into()), &tunables), "c=3:a=1:b=2");
    }
}
