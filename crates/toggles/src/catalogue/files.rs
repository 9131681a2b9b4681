//! Toggles that are files of sysfs, procfs or debugfs.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings};
use crate::{About, Availability, Risk, SystemState, Value};

const FREQUENCY_CEILING: FileToggle = FileToggle {
    about: About {
        name: "frequency-ceiling",
        title: "Highest CPU frequency",
        does: "Holds all CPUs at their lowest frequency, or lets them rise to their highest. Against the floor it tells how \
               much of a difference is frequency alone.",
        needs: &["root", "a cpufreq driver"],
        settle: Duration::from_millis(20),
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
        ..About::SYSTEM
    },
    files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"],
    settings: Settings::TextsOf(&[
        Setting { name: "lowest", text: "cpuinfo_min_freq", means: "the lowest that the CPU has" },
        Setting { name: "highest", text: "cpuinfo_max_freq", means: "the highest that the CPU has" },
    ]),
    remedy: "use a machine whose kernel controls frequencies, not a guest",
    ..FileToggle::BASE
};

const WAKEUP_PREEMPTION: FileToggle = FileToggle {
    about: About {
        name: "sched-wakeup-preemption",
        title: "Pre-emption by waking tasks",
        does: "A task that wakes may push the running one off its CPU at once, or waits for the next tick.",
        needs: &["root", "debugfs, without lockdown"],
        source: "Linux, kernel/sched/features.h",
        ..About::SYSTEM
    },
    files: &["sys/kernel/debug/sched/features", "sys/kernel/debug/sched_features"],
    form: Form::Word("WAKEUP_PREEMPTION"),
    settings: Settings::OffOn { off: ("NO_WAKEUP_PREEMPTION", "without"), on: ("WAKEUP_PREEMPTION", "with") },
    remedy: "mount -t debugfs debugfs /sys/kernel/debug, without lockdown",
    ..FileToggle::BASE
};

pub(super) static FILES: [FileToggle; 25] = [
    FileToggle {
        about: About {
            name: "clocksource",
            title: "The kernel's clock source",
            does: "Every reading of the time goes to this clock: the time-stamp counter in 10 to 40 ns, a hypervisor's \
                   page in little more, HPET and the ACPI timer in a microsecond and a system call.",
            needs: &["root", "more than one clock source"],
            // The switch itself took up to 1.4 ms; the vDSO follows with the next timer tick, at most 10 ms at 100 Hz.
            settle: Duration::from_millis(20),
            source: "Linux, Documentation/timers/timekeeping.rst",
            ..About::SYSTEM
        },
        files: &["sys/devices/system/clocksource/clocksource0/current_clocksource"],
        settings: Settings::ListedIn("available_clocksource", "a clock source that the kernel offers"),
        remedy: "boot a kernel that offers clock sources",
        ..FileToggle::BASE
    },
    FileToggle {
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
            Setting { name: "never", text: "never", means: "base pages only" },
            Setting { name: "madvise", text: "madvise", means: "for memory that asks" },
            Setting { name: "always", text: "always", means: "for all" },
        ]),
        remedy: "build the kernel with transparent huge pages",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "khugepaged",
            title: "Huge pages made in the background",
            does: "khugepaged gathers base pages of running processes into huge pages. It costs CPU time at odd moments and \
                   spares page walks later.",
            source: "Linux, Documentation/admin-guide/mm/transhuge.rst",
            ..About::SYSTEM
        },
        files: &["sys/kernel/mm/transparent_hugepage/khugepaged/defrag"],
        settings: Settings::OffOn {
            off: ("0", "it does not reclaim to find room"),
            on: ("1", "it reclaims to find room"),
        },
        remedy: "build the kernel with transparent huge pages",
        ..FileToggle::BASE
    },
    FileToggle {
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
        settings: Settings::OffOn {
            off: ("0", "pages stay where they are"),
            on: ("1", "pages and tasks are moved"),
        },
        remedy: "build the kernel with CONFIG_NUMA_BALANCING",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "ksm",
            title: "Merging of equal pages (KSM)",
            does: "ksmd compares pages that programs offer (virtual machines do) and merges equal ones. It costs CPU time and a \
                   copy at the next write. Off stops it and keeps what is merged.",
            needs: &["root", "CONFIG_KSM"],
            source: "Linux, Documentation/admin-guide/mm/ksm.rst",
            ..About::SYSTEM
        },
        files: &["sys/kernel/mm/ksm/run"],
        settings: Settings::OffOn { off: ("0", "ksmd sleeps"), on: ("1", "ksmd compares pages") },
        remedy: "build the kernel with CONFIG_KSM",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "governor",
            title: "CPU frequency governor",
            does: "Who chooses the frequency of a CPU: powersave and performance hold one end, schedutil and ondemand follow the \
                   load and take time to do so.",
            needs: &["root", "a cpufreq driver"],
            settle: Duration::from_millis(20),
            source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_governor"],
        settings: Settings::ListedIn("scaling_available_governors", "a governor that the driver offers"),
        remedy: "use a machine whose kernel controls frequencies, not a guest",
        ..FileToggle::BASE
    },
    FREQUENCY_CEILING,
    FileToggle {
        about: About {
            name: "frequency-floor",
            title: "Lowest CPU frequency",
            does: "Lets CPUs fall to their lowest frequency, or holds them at their highest: no time is lost in rising.",
            ..FREQUENCY_CEILING.about
        },
        files: &["sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq"],
        ..FREQUENCY_CEILING
    },
    FileToggle {
        about: About {
            name: "boost",
            title: "Frequency boost (cpufreq)",
            does: "Lets CPUs rise above their nominal frequency while power and heat allow. Without it times are steadier and \
                   longer.",
            needs: &["root", "a cpufreq driver with boost"],
            settle: Duration::from_millis(20),
            source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/cpufreq/boost"],
        settings: Settings::OffOn {
            off: ("0", "nominal frequency at most"),
            on: ("1", "above nominal when possible"),
        },
        remedy: "on Intel see turbo; guests have no frequency",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "turbo",
            title: "Turbo (intel_pstate)",
            does: "Lets CPUs rise above their nominal frequency while power and heat allow. Without it times are steadier and \
                   longer.",
            needs: &["root", "the intel_pstate driver"],
            settle: Duration::from_millis(20),
            source: "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
            x86_only: true,
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/intel_pstate/no_turbo"],
        settings: Settings::OffOn {
            off: ("1", "nominal frequency at most"),
            on: ("0", "above nominal when possible"),
        },
        remedy: "elsewhere see boost; guests have no frequency",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "energy-preference",
            title: "Energy or performance preference (EPP)",
            does: "CPUs that choose their own frequency get a hint how much power to save. power wakes slowly, performance quickly.",
            needs: &["root", "intel_pstate or amd_pstate in active mode"],
            settle: Duration::from_millis(20),
            source: "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"],
        settings: Settings::ListedIn(
            "energy_performance_available_preferences",
            "a preference that the CPU takes",
        ),
        remedy: "use a machine with intel_pstate or amd_pstate in active mode",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "energy-bias",
            title: "Energy or performance bias (EPB)",
            does: "A hint of 0 (performance) to 15 (power) for frequency and idle decisions of the CPU.",
            needs: &["root", "an Intel CPU with EPB"],
            settle: Duration::from_millis(20),
            source: "Linux, Documentation/admin-guide/pm/intel_epb.rst",
            x86_only: true,
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/cpu*/power/energy_perf_bias"],
        settings: Settings::Fixed(&[
            Setting { name: "power", text: "15", means: "save power" },
            Setting { name: "normal", text: "6", means: "balanced" },
            Setting { name: "performance", text: "0", means: "save no power" },
        ]),
        remedy: "use an Intel CPU whose flags hold epb, not a guest",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "idle-states",
            title: "CPU idle states",
            does: "Lets CPUs sleep when idle, or keeps all states but polling from use. Sleeping costs wake-ups and gives its power \
                   to the others.",
            needs: &["root", "a cpuidle driver"],
            source: "Linux, Documentation/admin-guide/pm/cpuidle.rst",
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/cpu*/cpuidle/state+/disable"],
        settings: Settings::OffOn { off: ("1", "no state but polling"), on: ("0", "every state") },
        remedy: "boot a kernel with a cpuidle driver",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "uncore-frequency",
            title: "Uncore frequency ceiling",
            does: "Holds mesh, L3 and memory controllers of Intel servers at their lowest frequency, or lets them rise. It moves the \
                   latency of all that misses L2.",
            needs: &["root", "the intel_uncore_frequency module"],
            settle: Duration::from_millis(20),
            source: "Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst",
            x86_only: true,
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/intel_uncore_frequency/package_*_die_*/max_freq_khz"],
        settings: Settings::TextsOf(&[
            Setting {
                name: "lowest",
                text: "initial_min_freq_khz",
                means: "the lowest that there was at boot",
            },
            Setting {
                name: "highest",
                text: "initial_max_freq_khz",
                means: "the highest that there was at boot",
            },
        ]),
        remedy: "load the module intel_uncore_frequency on an Intel server",
        ..FileToggle::BASE
    },
    FileToggle {
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
            Setting { name: "one", text: "1", means: "one quarter" },
            Setting { name: "all", text: "f", means: "all four" },
        ]),
        remedy: "use a machine with an AMD CPU of family 15h",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "cache-ways",
            title: "L3 ways by resctrl",
            does: "Takes half of the L3 ways away from all tasks that are in no resctrl group, or leaves them all. It shows what \
                   cache size is worth to a program.",
            needs: &["root", "Intel RDT or AMD QoS", "resctrl mounted"],
            source: "Linux, Documentation/filesystems/resctrl.rst",
            ..About::SYSTEM
        },
        files: &["sys/fs/resctrl/schemata"],
        form: Form::Line("L3"),
        settings: Settings::Derived(halves),
        remedy: "mount -t resctrl resctrl /sys/fs/resctrl, on a CPU with cat_l3",
        ..FileToggle::BASE
    },
    WAKEUP_PREEMPTION,
    FileToggle {
        about: About {
            name: "sched-ttwu-queue",
            title: "Wake-ups handed to the other CPU",
            does: "A wake-up of a task on another CPU is handed to that CPU by an interrupt, or its run queue is locked from here.",
            ..WAKEUP_PREEMPTION.about
        },
        form: Form::Word("TTWU_QUEUE"),
        settings: Settings::OffOn { off: ("NO_TTWU_QUEUE", "without"), on: ("TTWU_QUEUE", "with") },
        ..WAKEUP_PREEMPTION
    },
    FileToggle {
        about: About {
            name: "split-lock",
            title: "Split locks slowed down",
            does: "A program that locks across two cache lines stops all of the machine; the kernel makes it wait and lets one such \
                   program run at a time. It costs that program dear, and spares all others.",
            needs: &["root", "a CPU with split_lock_detect"],
            source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            x86_only: true,
            ..About::SYSTEM
        },
        files: &["proc/sys/kernel/split_lock_mitigate"],
        settings: Settings::OffOn { off: ("0", "a warning only"), on: ("1", "the program waits") },
        remedy: "use a CPU whose flags hold split_lock_detect or bus_lock_detect",
        unless: without_split_lock_detection,
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "nmi-watchdog",
            title: "Hard-lockup watchdog",
            does: "Interrupts each CPU every few seconds by a performance counter, which other users of counters then lack.",
            needs: &["root", "a performance counter"],
            source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            ..About::SYSTEM
        },
        files: &["proc/sys/kernel/nmi_watchdog"],
        settings: Settings::OffOn { off: ("0", "no watchdog"), on: ("1", "a watchdog") },
        remedy: "use a machine with performance counters",
        unless: without_counters,
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "smt",
            title: "Simultaneous multithreading",
            does: "Takes the second and further threads of each core offline, or back. Tasks and interrupts bound to them move; what can be bound again is.",
            needs: &["root", "a CPU with SMT"],
            risk: Risk::Disruptive,
            opens: "affinities of tasks and interrupts that were bound to the siblings",
            settle: Duration::from_millis(200),
            source: "Linux, Documentation/ABI/testing/sysfs-devices-system-cpu",
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/smt/control"],
        settings: Settings::OffOn { off: ("off", "one thread per core"), on: ("on", "all threads") },
        remedy: "boot Linux 4.19 or later with CONFIG_HOTPLUG_SMT",
        unless: without_siblings,
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "cpu-online",
            title: "The last CPU online",
            does: "Takes the CPU with the highest number offline, or back. Tasks and interrupts bound to it move; what can be bound again is.",
            needs: &["root", "CPU hot-plug"],
            risk: Risk::Disruptive,
            opens: "affinities of tasks and interrupts that were bound to the CPU",
            settle: Duration::from_millis(200),
            source: "Linux, Documentation/core-api/cpu_hotplug.rst",
            ..About::SYSTEM
        },
        files: &["sys/devices/system/cpu/cpu*/online"],
        settings: Settings::OffOn { off: ("0", "the CPU is away"), on: ("1", "the CPU is there") },
        remedy: "boot a kernel with CONFIG_HOTPLUG_CPU",
        last_only: true,
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "bpf-jit-harden",
            title: "Blinding of constants in compiled BPF",
            does: "The BPF compiler hides constants of programs, so that none can smuggle in instructions. It costs BPF programs \
                   with many constants. Only programs loaded from now on change.",
            needs: &["root", "CONFIG_BPF_JIT"],
            risk: Risk::LowersSecurity,
            opens: "JIT spraying: BPF constants as hidden instructions",
            source: "Linux, Documentation/admin-guide/sysctl/net.rst",
            ..About::SYSTEM
        },
        files: &["proc/sys/net/core/bpf_jit_harden"],
        settings: Settings::Fixed(&[
            Setting { name: "off", text: "0", means: "no constant is blinded" },
            Setting { name: "unprivileged", text: "1", means: "those of ordinary users" },
            Setting { name: "on", text: "2", means: "those of all" },
        ]),
        remedy: "build the kernel with CONFIG_BPF_JIT",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "kvm-nx-huge-pages",
            title: "Executable huge pages of guests split",
            does: "KVM maps huge pages of guests without execute permission and splits those that run code (CVE-2018-12207). It \
                   costs guests page walks.",
            needs: &["root", "a KVM host"],
            risk: Risk::LowersSecurity,
            opens: "CVE-2018-12207 (iTLB multihit): a guest can halt the host",
            source: "Linux, Documentation/admin-guide/hw-vuln/multihit.rst",
            x86_only: true,
            ..About::SYSTEM
        },
        files: &["sys/module/kvm/parameters/nx_huge_pages"],
        settings: Settings::OffOn {
            off: ("N", "huge pages may be executable"),
            on: ("Y", "executable huge pages are split"),
        },
        remedy: "use a KVM host whose module lets it be written",
        ..FileToggle::BASE
    },
    FileToggle {
        about: About {
            name: "kvm-l1d-flush",
            title: "L1 cache flush before guests",
            does: "KVM empties the L1 data cache before it enters a guest: never, after code that may have loaded secrets, or always \
                   (CVE-2018-3646).",
            needs: &["root", "a KVM host with an Intel CPU"],
            risk: Risk::LowersSecurity,
            opens: "CVE-2018-3646 (L1 Terminal Fault): a guest can read the L1 cache of the host",
            source: "Linux, Documentation/admin-guide/hw-vuln/l1tf.rst",
            x86_only: true,
            ..About::SYSTEM
        },
        files: &["sys/module/kvm_intel/parameters/vmentry_l1d_flush"],
        settings: Settings::Fixed(&[
            Setting { name: "never", text: "never", means: "no flush" },
            Setting { name: "cond", text: "cond", means: "after code that may have loaded secrets" },
            Setting { name: "always", text: "always", means: "at each entry" },
        ]),
        remedy: "use a KVM host with an affected Intel CPU",
        ..FileToggle::BASE
    },
];

fn without_counters(system: &SystemState) -> Option<Availability> {
    let has = |device: &str| system.root.exists(&format!("sys/bus/event_source/devices/{device}"));
    let (reason, remedy) =
        ("there is no performance counter to drive it", "use a machine with performance counters");
    (!has("cpu") && !has("cpu_core")).then(|| Availability::missing(reason, remedy))
}

fn without_split_lock_detection(system: &SystemState) -> Option<Availability> {
    let identity = &system.machine.identity;
    let detects = ["split_lock_detect", "bus_lock_detect"].iter().any(|flag| identity.has_flag(flag));
    let remedy = "use a CPU whose flags hold split_lock_detect or bus_lock_detect";
    (!detects).then(|| Availability::missing("this CPU does not notice split locks", remedy))
}

/// The other states that the kernel knows: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu.
fn without_siblings(system: &SystemState) -> Option<Availability> {
    let state = system.root.read("sys/devices/system/cpu/smt/control").unwrap_or_default();
    let remedy = match state.as_str() {
        "on" | "off" => return None,
        "forceoff" => "boot without nosmt=force",
        "notimplemented" => "boot a kernel with CONFIG_HOTPLUG_SMT",
        // The CPU has one thread per core, or the firmware shows only one: nothing that is typed here helps.
        _ => "",
    };
    Some(Availability::missing(format!("the kernel says {state}"), remedy))
}

/// What holds now, and the same with the upper half of each group of ways left out, in the width of the original.
fn halves(now: &str) -> Vec<Value> {
    let half = |domain: &str| {
        let (id, mask) = domain.split_once('=')?;
        let bits = u64::from_str_radix(mask, 16).ok()?;
        let kept = bits.count_ones() / 2;
        let half = (bits >> bits.trailing_zeros()) & ((1_u64 << kept) - 1);
        (kept > 0).then(|| format!("{id}={:0width$x}", half << bits.trailing_zeros(), width = mask.len()))
    };
    let Some(halved) = now.split(';').map(half).collect::<Option<Vec<String>>>() else { return Vec::new() };
    let value = |name: String, means: &str| Value { name, means: means.to_owned(), risk: Risk::Reversible };
    vec![value(halved.join(";"), "half of the ways"), value(now.to_owned(), "the ways it has now")]
}

#[cfg(test)]
mod tests {
    use super::halves;

    #[test]
    fn half_of_the_ways_keeps_the_width_and_stays_in_one_piece() {
        let names = |text| halves(text).into_iter().map(|value| value.name).collect::<Vec<_>>();
        assert_eq!(names("0=fff;1=ffe"), ["0=03f;1=03e", "0=fff;1=ffe"]);
        assert!(names("0=1").is_empty() && names("").is_empty() && names("0=xyz").is_empty());
    }
}
