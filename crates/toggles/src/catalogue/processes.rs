//! Toggles that end with a thread or process.

use host::Root;
use host::live::{
    MemoryPolicy, PageRequest, ProcessSetting, Speculation, allowed_cpus, current_memory_policy,
    huge_pages_forbidden, is_writable, node_mask, speculation, timer_slack_ns, wake_latency_us,
};
use machine::NodeId;

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability, Risk, SystemState, User};

/// What a thread has unless somebody changed it, in ns: init's `timer_slack_ns` (Linux, init/init_task.c).
const DEFAULT_SLACK_NS: u64 = 50_000;
/// The least there is, in ns; 0 means the default (prctl(2)).
const LEAST_SLACK_NS: u64 = 1;
/// `PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, Linux, include/linux/pm_qos.h: 2000 s.
const NO_LIMIT_US: u32 = 2_000_000_000;
/// The tunable of glibc.
const TUNABLE: &str = "glibc.malloc.hugetlb";

pub(super) static PROCESSES: [ProcessToggle; 9] = [
    ProcessToggle {
        about: About {
            name: "ssbd",
            title: "Speculative Store Bypass Disable",
            does: "Stops loads from passing older stores whose address is not known yet (CVE-2018-3639). \
                   It costs code that loads soon after a store through a late address.",
            needs: &["Linux 4.17", "a CPU whose control the kernel knows", "no boot option that fixes it"],
            source: "Linux, Documentation/userspace-api/spec_ctrl.rst",
            ..About::PROCESS
        },
        available: |system| {
            // Linux, Documentation/admin-guide/kernel-parameters.txt: ssbd= is of arm64.
            let architecture = system.machine.identity.architecture.as_deref();
            let boot = if architecture == Some("aarch64") {
                "ssbd=kernel"
            } else {
                "spec_store_bypass_disable=prctl"
            };
            speculation_available(Speculation::StoreBypass, boot)
        },
        now: |_| speculation_now(Speculation::StoreBypass),
        choices: &[
            Choice::named("off")
                .means("loads may pass older stores")
                .asks(|_| ProcessSetting::StopSpeculation(Speculation::StoreBypass, false)),
            Choice::named("on")
                .means("loads wait for the address of older stores")
                .asks(|_| ProcessSetting::StopSpeculation(Speculation::StoreBypass, true)),
        ],
    },
    ProcessToggle {
        about: About {
            name: "indirect-branch",
            title: "Indirect-branch workaround (IBPB, STIBP)",
            does: "Stops a process from being predicted by what others did (CVE-2017-5715): a barrier when it is \
                   switched to or from, and no sharing of predictions with the SMT sibling. It costs programs that \
                   switch often, such as two that talk over a pipe on one CPU.",
            needs: &["Linux 4.20", "a CPU with IBPB", "no boot option that fixes it"],
            source: "Linux, Documentation/userspace-api/spec_ctrl.rst",
            x86_only: true,
            ..About::PROCESS
        },
        available: |_| speculation_available(Speculation::IndirectBranch, "spectre_v2_user=prctl"),
        now: |_| speculation_now(Speculation::IndirectBranch),
        choices: &[
            Choice::named("off")
                .means("predictions are shared between processes")
                .asks(|_| ProcessSetting::StopSpeculation(Speculation::IndirectBranch, false)),
            Choice::named("on")
                .means("a barrier at each switch of process")
                .asks(|_| ProcessSetting::StopSpeculation(Speculation::IndirectBranch, true)),
        ],
    },
    ProcessToggle {
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
        available: |system| match no_huge_pages(system.root) {
            Some(refused) => refused,
            None if huge_pages_forbidden().is_err() => {
                Availability::missing("the kernel refuses PR_GET_THP_DISABLE", "")
            }
            None => Availability::Available,
        },
        now: |_| huge_pages_forbidden().ok().map(|forbidden| if forbidden { "off" } else { "on" }),
        choices: &[
            Choice::named("off").means("base pages only").asks(|_| ProcessSetting::ForbidHugePages(true)),
            Choice::named("on")
                .means("huge pages as the policy of the machine allows")
                .asks(|_| ProcessSetting::ForbidHugePages(false)),
        ],
    },
    ProcessToggle {
        about: About {
            name: "buffer-pages",
            title: "Page size of probe buffers",
            does: "Asks the kernel by madvise for base or huge pages for the buffers of the probes. It moves what walks page \
                   tables: the random chase over large blocks. It does nothing to a program of yours; see thp for that.",
            needs: &["transparent huge pages not set to never"],
            source: "madvise(2), MADV_HUGEPAGE",
            ..About::PROCESS
        },
        available: |system| match no_huge_pages(system.root) {
            Some(refused) => refused,
            None if huge_pages_forbidden().unwrap_or(false) => Availability::missing(
                "this process may not have huge pages (PR_SET_THP_DISABLE)",
                "start anew",
            ),
            None => Availability::Available,
        },
        now: |_| None,
        choices: &[
            Choice::named("base").means("pages of 4 KiB").pages(PageRequest::Base),
            Choice::named("huge").means("pages of 2 MiB").pages(PageRequest::Huge),
        ],
    },
    ProcessToggle {
        about: About {
            name: "huge-malloc",
            title: "Huge pages for malloc of a program",
            does: "Makes malloc of a program that is started ask for huge pages (glibc.malloc.hugetlb=1). It spares page walks in \
                   programs with a large heap. A statically linked program, or one with its own allocator, does not read it.",
            needs: &["glibc 2.35 in the program", "transparent huge pages not set to never"],
            source: "The GNU C Library manual, Memory Allocation Tunables",
            ..About::PROCESS
        },
        available: |system| no_huge_pages(system.root).unwrap_or(Availability::Available),
        now: |_| None,
        choices: &[
            Choice::named("off")
                .means("the heap takes what the policy gives")
                .asks(|_| ProcessSetting::GlibcTunable(TUNABLE, "0")),
            Choice::named("on")
                .means("malloc asks for huge pages")
                .asks(|_| ProcessSetting::GlibcTunable(TUNABLE, "1")),
        ],
    },
    ProcessToggle {
        about: About {
            name: "affinity",
            title: "CPU affinity of a process",
            does: "Keeps a process and its threads on one CPU, the first it may use, or leaves them to the scheduler. It spares \
                   moves between caches, and costs programs with more than one thread.",
            needs: &["two CPUs that the process may use"],
            source: "sched_setaffinity(2)",
            ..About::PROCESS
        },
        available: |_| {
            if allowed_cpus().len() < 2 {
                return Availability::missing("the process may use only one CPU", "widen its cpuset");
            }
            Availability::Available
        },
        now: |_| Some(if allowed_cpus().len() == 1 { "one" } else { "all" }),
        choices: &[
            Choice::named("all")
                .means("every CPU that it may use")
                .asks(|_| ProcessSetting::Affinity(allowed_cpus())),
            Choice::named("one")
                .means("the first CPU that it may use")
                .asks(|_| ProcessSetting::Affinity(allowed_cpus().first().into_iter().collect())),
        ],
    },
    ProcessToggle {
        about: About {
            name: "memory-policy",
            title: "Where a process takes memory from",
            does: "New pages come from the node that touches them first, from all nodes in turn, or from one node only. On machines \
                   with several nodes it decides between local latency and the bandwidth of all.",
            needs: &["two NUMA nodes with memory"],
            source: "set_mempolicy(2)",
            ..About::PROCESS
        },
        available: |system| {
            if system.machine.topology.nodes.is_empty() {
                let reason = "no NUMA nodes were read: /sys/devices/system/node is not there";
                return Availability::missing(reason, "");
            }
            if nodes_with_memory(system).len() < 2 {
                let reason = "fewer than two NUMA nodes are known to have memory";
                return Availability::missing(reason, "use a machine with more");
            }
            match current_memory_policy() {
                Ok(_) => Availability::Available,
                Err(error) => {
                    Availability::missing(format!("the kernel has no memory policies ({error})"), "")
                }
            }
        },
        now: |_| match current_memory_policy() {
            Ok(MemoryPolicy::Local) => Some("local"),
            Ok(MemoryPolicy::Interleave(_)) => Some("interleave"),
            Ok(MemoryPolicy::Bind(_)) => Some("bind"),
            _ => None,
        },
        choices: &[
            Choice::named("local")
                .means("the node that touches a page first")
                .asks(|_| ProcessSetting::Memory(MemoryPolicy::Local)),
            Choice::named("bind").means("the first node only").asks(|system| {
                ProcessSetting::Memory(MemoryPolicy::Bind(node_mask(&nodes_with_memory(system)[..1])))
            }),
            Choice::named("interleave").means("all nodes in turn").asks(|system| {
                ProcessSetting::Memory(MemoryPolicy::Interleave(node_mask(&nodes_with_memory(system))))
            }),
        ],
    },
    ProcessToggle {
        about: About {
            name: "timer-slack",
            title: "Lateness of timers of a thread",
            does: "The kernel may fire timers of a thread late by this much, to wake the CPU less often. It costs \
                   programs that sleep for short times. Real-time threads have none.",
            needs: &["Linux 2.6.28"],
            source: "prctl(2), PR_SET_TIMERSLACK",
            ..About::PROCESS
        },
        available: |_| match timer_slack_ns() {
            Ok(_) => Availability::Available,
            Err(error) => {
                Availability::missing(format!("the kernel refuses PR_GET_TIMERSLACK ({error})"), "")
            }
        },
        now: |_| match timer_slack_ns() {
            Ok(DEFAULT_SLACK_NS) => Some("default"),
            Ok(LEAST_SLACK_NS) => Some("least"),
            _ => None,
        },
        choices: &[
            Choice::named("least")
                .means("1 ns: timers fire on time")
                .asks(|_| ProcessSetting::TimerSlackNs(LEAST_SLACK_NS)),
            Choice::named("default")
                .means("50 us: timers may be gathered")
                .asks(|_| ProcessSetting::TimerSlackNs(DEFAULT_SLACK_NS)),
        ],
    },
    ProcessToggle {
        about: About {
            name: "cpu-dma-latency",
            title: "Wake-up latency of all CPUs",
            does: "While a process holds the request, no CPU enters an idle state that takes longer to leave; 0 keeps all awake. It \
                   costs power and the turbo of others, and spares wake-ups. A crash ends the request.",
            needs: &["root", "a cpuidle driver, or it moves nothing"],
            risk: Risk::Reversible,
            source: "Linux, Documentation/power/pm_qos_interface.rst",
            ..About::PROCESS
        },
        available: |system| {
            if system.user != User::Root {
                return Availability::missing("it needs root", "run as root");
            }
            if !is_writable("dev/cpu_dma_latency") {
                return Availability::missing(
                    "the kernel has no /dev/cpu_dma_latency",
                    "build it with CPU_IDLE",
                );
            }
            Availability::Available
        },
        now: |_| match wake_latency_us() {
            Ok(0) => Some("awake"),
            Ok(NO_LIMIT_US) => Some("any"),
            _ => None,
        },
        choices: &[
            Choice::named("any").means("as deep as the governor likes"),
            Choice::named("awake").means("no idle state at all").asks(|_| ProcessSetting::WakeLatencyUs(0)),
        ],
    },
];

/// Where the kernel shows how it manages memory: absent if /sys is not mounted, or was not recorded.
const MEMORY_FOLDER: &str = "sys/kernel/mm";
/// The kernel's policy for the whole machine.
const POLICY: &str = "sys/kernel/mm/transparent_hugepage/enabled";

/// Why no program can have huge pages here, if that is so.
fn no_huge_pages(root: &Root) -> Option<Availability> {
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

/// Whether the calling thread may switch it; `boot` is the option that leaves the choice to threads.
fn speculation_available(kind: Speculation, boot: &str) -> Availability {
    match speculation(kind) {
        Err(error) => Availability::missing(format!("the kernel has no such control ({error})"), ""),
        Ok(state) if state.switchable => Availability::Available,
        Ok(state) if state.not_affected => {
            Availability::missing("the kernel says that this CPU is not affected", "")
        }
        Ok(state) if state.latched => {
            Availability::missing("it is forced on for this process, which cannot be undone", "start anew")
        }
        Ok(state) => {
            let held = if state.stopped { "on" } else { "off" };
            Availability::missing(
                format!("the kernel keeps it {held} for all processes"),
                format!("boot with {boot}, on a CPU or hypervisor that offers the control"),
            )
        }
    }
}

/// `on` or `off` in the calling thread, which a new process inherits.
fn speculation_now(kind: Speculation) -> Option<&'static str> {
    speculation(kind).ok().map(|state| if state.stopped { "on" } else { "off" })
}

fn nodes_with_memory(system: &SystemState) -> Vec<NodeId> {
    let nodes = system.machine.topology.nodes.iter();
    nodes.filter(|node| node.memory_bytes.is_some_and(|bytes| bytes.0 > 0)).map(|node| node.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_kernel_that_was_not_asked_nothing_is_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let reason = || {
            let root = Root::open(folder.path()).expect("a recording");
            match no_huge_pages(&root) {
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
