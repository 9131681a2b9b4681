//! A recorded machine with one file changed at a time: the first line names what changed.

use std::fs;
use std::path::Path;

use host::Root;
use record::{Answer, Evidence, FlawVerdict, Guards, Protection, Record, Statement, WorkaroundState};

use super::super::*;
use crate::history::entry;

/// The files of a machine of two CPUs under KVM, in a control group of each version.
const MACHINE: [(&str, &str); 30] = [
    ("proc/cpuinfo", CPUINFO),
    ("proc/cmdline", "quiet ro\n"),
    ("proc/version", "Linux version 6.1.0-21-amd64 (gcc)\n"),
    ("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\n"),
    ("proc/mounts", "c1 /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\nc2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"),
    ("proc/self/cgroup", "2:cpu:/one\n0::/two\n"),
    ("proc/sys/kernel/numa_balancing", "0\n"),
    ("sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "-1\n"),
    ("sys/fs/cgroup/cpu/one/cpu.cfs_period_us", "100000\n"),
    ("sys/fs/cgroup/unified/two/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/unified/two/memory.max", "max\n"),
    ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
    ("sys/class/dmi/id/product_name", "Standard PC\n"),
    ("sys/class/dmi/id/bios_version", "1.16.2\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock hpet\n"),
    ("sys/devices/system/cpu/possible", "0-1\n"),
    ("sys/devices/system/cpu/present", "0-1\n"),
    ("sys/devices/system/cpu/online", "0-1\n"),
    ("sys/devices/system/cpu/isolated", "\n"),
    ("sys/devices/system/cpu/smt/control", "on\n"),
    ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n"),
    ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
    ("sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n"),
    ("sys/devices/system/cpu/vulnerabilities/spectre_v2", SPECTRE),
];
const CPUINFO: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Made Up\n\
stepping\t: 7\nmicrocode\t: 0x5002f01\nflags\t\t: fpu tsc lm hypervisor\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n";
const SPECTRE: &str = "Mitigation: Retpolines; IBPB: conditional; STIBP: disabled; RSB filling\n";

/// What a check-up keeps of the machine, with other text in one file; `None` for a file that is not there.
fn check_up(path: &str, text: Option<&str>) -> HistoryEntry {
    let tree = tempfile::tempdir().expect("a temporary folder");
    let put = |path: &str, text: &str| {
        let file = tree.path().join(path);
        fs::create_dir_all(file.parent().expect("below the folder")).expect("folders");
        fs::write(file, text).expect("a file");
    };
    for (file, content) in MACHINE.into_iter().filter(|(file, _)| *file != path) {
        put(file, content);
    }
    if let Some(text) = text {
        put(path, text);
    }
    entry(&Record { machine: describe(tree.path()), ..Record::default() })
}

fn describe(tree: &Path) -> machine::Machine {
    host::describe(&Root::open(tree).expect("a recorded machine"), None)
}

fn judged(before: HistoryEntry, after: HistoryEntry) -> GuardOutcome {
    let baseline = GuardBaseline { schema: GUARD_SCHEMA, runs: vec![before; 2] };
    let guard = Guard::new(&baseline, allowance(&[], "")).expect("runs");
    guard.judge(&[after], &mut GuardLedger::default())
}

#[test]
fn a_file_that_changed_is_named_in_the_first_line() {
    let model = CPUINFO.replace("model\t\t: 85", "model\t\t: 143").replace("Made Up", "Made Up 2");
    let microcode = CPUINFO.replace("0x5002f01", "0x5002f02");
    let cpu_folder = "sys/devices/system/cpu";
    let of_cpus = |file: &str| format!("{cpu_folder}/{file}");
    let rows = [
        ("proc/cmdline", "quiet ro mitigations=off\n", "boot words from none to mitigations=off"),
        ("proc/cmdline", "quiet ro nosmt isolcpus=1\n", "boot words from none to nosmt isolcpus=1"),
        (
            "proc/version",
            "Linux version 6.1.0-22-amd64 (gcc)\n",
            "kernel from Linux 6.1.0-21-amd64 to Linux 6.1.0-22",
        ),
        ("proc/cpuinfo", &microcode, "microcode from 0x5002f01 to 0x5002f02"),
        (
            "proc/cpuinfo",
            &model,
            "another machine than that of the baseline: CPU from Made Up (GenuineIntel family 6 model 85",
        ),
        (
            "sys/class/dmi/id/sys_vendor",
            "Xen\n",
            "another machine than that of the baseline: hypervisor from KVM or QEMU to Xen;",
        ),
        (
            "proc/meminfo",
            "MemTotal: 4194304 kB\n",
            "another machine than that of the baseline: memory from 8 GiB to 4 GiB;",
        ),
        ("sys/class/dmi/id/bios_version", "1.16.3\n", "BIOS from 1.16.2 to 1.16.3"),
        ("sys/fs/cgroup/unified/two/cpu.max", "160000 100000\n", "CPU limit from none to 1.6 CPUs"),
        ("sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "80000\n", "CPU limit from none to 0.8 CPUs"),
        ("sys/fs/cgroup/unified/two/memory.max", "1073741824\n", "memory limit from none to 1 GiB"),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always madvise [never]\n",
            "huge pages from madvise to never",
        ),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet\n",
            "clock source from tsc to hpet",
        ),
        (&of_cpus("online"), "0\n", "offline CPUs from none to 1"),
        (&of_cpus("isolated"), "1\n", "isolated CPUs from none to 1"),
        (&of_cpus("smt/control"), "off\n", "SMT from on to off"),
        (&of_cpus("cpuidle/current_driver"), "none\n", "idle driver from haltpoll to none"),
        (
            &of_cpus("cpu0/cpufreq/scaling_governor"),
            "powersave\n",
            "frequency policy from acpi-cpufreq/performance x1 to acpi-cpufreq/powersave x1",
        ),
        ("proc/sys/kernel/numa_balancing", "1\n", "NUMA balancing from off to on"),
        (&of_cpus("vulnerabilities/mds"), "Vulnerable\n", "mitigation mds from Not affected to Vulnerable"),
        (
            &of_cpus("vulnerabilities/spectre_v2"),
            "Mitigation: Retpolines; IBPB: conditional; STIBP: forced; RSB filling\n",
            "mitigation spectre_v2 from STIBP: disabled to STIBP: forced",
        ),
    ];
    for (path, text, expected) in rows {
        let found = judged(check_up("", None), check_up(path, Some(text)));
        assert_eq!(found.verdict, GuardVerdict::Changed, "{path}");
        assert!(found.sentence.starts_with(&format!("changed: {expected}")), "{path}: {}", found.sentence);
        let back = judged(check_up(path, Some(text)), check_up("", None));
        assert_eq!(back.verdict, GuardVerdict::Changed, "{path}, the other way");
    }
}

#[test]
fn the_same_files_are_the_same_facts() {
    let same = judged(check_up("", None), check_up("", None));
    assert!(same.facts.is_empty(), "{:?}", same.facts);
}

#[test]
fn a_boot_word_stands_before_the_mitigations_that_it_switched() {
    let mut after = check_up("proc/cmdline", Some("quiet ro mitigations=off\n"));
    for name in ["mds", "spectre_v2"] {
        after.facts.insert(format!("mitigation {name}"), "Vulnerable".to_owned());
    }
    let found = judged(check_up("", None), after);
    let expected = "changed: boot words from none to mitigations=off, and 2 more facts; ";
    assert!(found.sentence.starts_with(expected), "{}", found.sentence);
    let command = "sidestep ab --across-reboot --a '' --b 'mitigations=off'";
    assert_eq!(found.proofs.first().map(|proof| proof.command.as_str()), Some(command));
}

#[test]
fn a_workaround_that_only_registers_show_is_a_fact_for_whoever_can_read_them() {
    let entry = |workaround, root| {
        let registers = Statement { workaround, ..Statement::default() };
        let flaw = FlawVerdict {
            id: "zenbleed".to_owned(),
            title: String::new(),
            affected: Answer::Yes,
            because: String::new(),
            workaround,
            protected: Protection::Unknown,
            paid: Answer::Unknown,
            special: None,
            evidence: Evidence { registers, ..Evidence::default() },
            disagreements: Vec::new(),
            cause: None,
            vectors: [].into(),
            switches: Vec::new(),
            fix: None,
            costs: Vec::new(),
        };
        let mut record = Record { flaws: vec![flaw], ..Record::default() };
        record.provenance.root = root;
        entry(&record)
    };
    let on = || entry(WorkaroundState::On, true);
    let found = judged(on(), entry(WorkaroundState::Off, true));
    let expected = "changed: flaw zenbleed from mitigation on to mitigation off; ";
    assert!(found.sentence.starts_with(expected), "{}", found.sentence);
    let other_user = judged(on(), entry(WorkaroundState::Unknown, false));
    assert!(!other_user.facts.iter().any(|fact| fact.fact.starts_with("flaw ")), "{:?}", other_user.facts);
}

#[test]
fn a_check_up_keeps_what_it_saw_of_others() {
    let guards = Guards {
        others_share: Some(0.25),
        steal_share: Some(0.01),
        windows: 200,
        windows_dropped: 20,
        ..Guards::default()
    };
    let kept = entry(&Record { guards, ..Record::default() });
    let shares = [kept.others_share, kept.steal_share, kept.dropped_share];
    assert_eq!(shares, [Some(0.25), Some(0.01), Some(0.1)]);
    assert_eq!(entry(&Record::default()).dropped_share, None);
}
