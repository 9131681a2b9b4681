//! Machines, clocks and CPUID texts: what a page must and must not say, and how it ends.

use super::{folder, sidestep};

struct Row {
    case: &'static str,
    arguments: &'static str,
    status: i32,
    says: &'static [&'static str],
    never: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        case: "14-cpuid-family-15h-apic",
        arguments: "machine --cpuid fx-8350-cpuid.tar.gz --gate",
        status: 0,
        says: &["1 package, 8 cores, 8 CPUs"],
        never: &["APIC"],
    },
    Row {
        case: "14-cpuid-family-15h-apic",
        arguments: "machine --sysroot fx-8350-recording.tar.gz --gate",
        status: 0,
        says: &["1 package, 8 cores, 8 CPUs"],
        never: &["APIC"],
    },
    Row {
        case: "15-cpuid-phenom-apic-high-bits",
        arguments: "machine --cpuid phenom-ii-955.tar.gz --gate",
        status: 0,
        says: &[
            "1 package, 4 cores, 4 CPUs",
            "L3       6 MiB    48  64 B          4          1",
            "taken for the core",
        ],
        never: &[],
    },
    Row {
        case: "17-sysfs-fx6300-clusters",
        arguments: "machine --sysroot fx-6300.tar.gz --gate",
        status: 1,
        says: &["cluster_cpus says CPUs 0,3, shared_cpu_map of L1i and L2 says CPUs 0-1, which are taken"],
        never: &[],
    },
    Row {
        case: "18-sysfs-l3-ids",
        arguments: "machine --sysroot ryzen-1600.tar.gz --gate",
        status: 1,
        says: &[
            "L3       8 MiB    16  64 B          6          2",
            "shared_cpu_map says CPUs 6-9, the cache's id says CPUs 6-11, which are taken",
        ],
        never: &[],
    },
    Row {
        case: "20-sysfs-arm-core-kinds",
        arguments: "machine --sysroot a510-a710-a715-x3.tar.gz --gate",
        status: 0,
        says: &[
            "1 package, 8 cores, 8 CPUs",
            "3 CPUs of capacity 280, 4 CPUs of capacity 855, 1 CPU of capacity 1024",
            "L3 unknown unknown unknown 8 1",
        ],
        never: &["one for each core"],
    },
    Row {
        case: "21-sysfs-other-architectures",
        arguments: "machine --sysroot virtualbox.tar.gz",
        status: 0,
        says: &["VirtualBox guest"],
        never: &[],
    },
    Row {
        case: "22-clock-hyperv",
        arguments: "clock check --sysroot azure-before.tar.gz",
        status: 0,
        says: &["by a rule, not for what it saw: \"tsc: Marking TSC unstable due to running on Hyper-V\""],
        never: &["watched", "see its messages"],
    },
    Row {
        case: "22-clock-hyperv",
        arguments: "clock check --sysroot azure-no-log.tar.gz",
        status: 0,
        says: &["without its log the reason is unknown"],
        never: &["watched", "see its messages"],
    },
    Row {
        case: "29-formats",
        arguments: "machine --cpuid hwloc-1.xml",
        status: 0,
        says: &["8 CPUs, 4 NUMA nodes", "1 2-3 1000 B unknown 16 10 22 16", "how many there are is unknown"],
        never: &[],
    },
    Row {
        case: "29-formats",
        arguments: "sockets infer --sysroot hwloc-1.xml",
        status: 0,
        says: &["Links identified: 0-1 0-2 1-3 2-3"],
        never: &[" ns"],
    },
    Row {
        case: "29-formats",
        arguments: "machine --cpuid aida64.txt --gate",
        status: 0,
        says: &["Core(TM) Ultra 7 265K, 20 CPUs", "1 package, 20 cores", "12 CPUs of kind efficiency"],
        never: &[],
    },
    Row {
        case: "29-formats",
        arguments: "flaws --cpuid aida64.txt",
        status: 0,
        says: &["Core(TM) Ultra 7 265K", "hybrid-cores"],
        never: &[],
    },
    Row {
        case: "29-formats",
        arguments: "machine --cpuid cpuid-r.txt",
        status: 0,
        says: &["HygonGenu!ne"],
        never: &["family"],
    },
];

#[test]
fn pages_say_what_the_pastes_show_and_no_more() {
    for row in ROWS {
        let Some(folder) = folder(row.case) else { return };
        let said = sidestep(&folder, row.arguments);
        let page = said.stdout.clone() + &said.stderr;
        let context = format!("{}: {}\n{page}", row.case, row.arguments);
        assert_eq!(said.status, row.status, "{context}");
        // Lines are folded at the width of a page.
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in row.says {
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&words), "without {words:?}: {context}");
        }
        for words in row.never {
            assert!(!flat.contains(words), "{words:?} is there: {context}");
        }
    }
}
