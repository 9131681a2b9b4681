//! Every recorded machine of the zoo against the values that lstopo 2.9.0 gives for it.
//!
//! The zoo lies beside the repository; where it does not, each test says which machines it skips.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use host::{Cpuid, Root, describe};
use machine::{Disagreement, Machine, View};
use serde_json::Value;

/// Differences that are the oracle's: machine, part of the view, why sidestep says something else.
const ORACLE_DIFFERENCES: [(&str, &str, &str); 1] = [(
    "Zhaoxin-2xCentaurHauls-KaiSheng-KH-40000",
    "dies",
    "leaf 1FH lists level type 5 (die) from APIC bit 4 on: two dies in each package; lstopo 2.9 reads 1FH for Intel only",
)];

/// Machines that contradict themselves: machine, the source that does, and how.
const CONTRADICTIONS: [(&str, &str, &str); 3] = [
    (
        "Intel-CPUID.1F-Qemu-2p3d3c2t",
        "CPUID leaf 1",
        "it counts the 6 CPUs of a die, where 18 CPUs have ids in one package and leaf 1FH counts them; the dump is partly made up",
    ),
    (
        "64amd64-4s2n4ca2co",
        "shared_cpu_list",
        "the lists of L1i and L2 name one CPU, the masks the two of a compute unit; which of them is the machine's is unknown",
    ),
    ("64fake-4n2s2ca2c2t", "shared_cpu_list", "a made-up tree: its lists are copies of those of other CPUs"),
];

/// Reading one recorded machine may take this long in a release build, in milliseconds.
const READING_MS_MAX: u128 = 100;

/// The folder of the zoo, or nothing and a loud line.
fn zoo(kind: &str) -> Option<PathBuf> {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/zoo");
    if zoo.join("expected").join(kind).is_dir() {
        return Some(zoo);
    }
    println!("skipped: zoo absent: no recorded machine of {kind} was read (looked in {})", zoo.display());
    None
}

/// The oracle values of one kind, by machine.
fn expected(zoo: &Path, kind: &str) -> BTreeMap<String, Value> {
    let folder = zoo.join("expected").join(kind);
    let names = std::fs::read_dir(&folder).expect("a folder of oracle values");
    names
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("oracle values");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, serde_json::from_str(&text).expect("JSON"))
        })
        .collect()
}

/// Each cache that a process may use, with its size and the CPUs in view that share it.
fn members(machine: &Machine) -> Vec<String> {
    let topology = &machine.topology;
    // Caches that are in view for the memory behind them alone have no members.
    let line = |cache: &machine::Cache| {
        let size = cache.size_bytes.map_or(0, |size| size.0);
        let cpus = cache.shared_by.intersection(&topology.allowed);
        (!cpus.is_empty()).then(|| format!("{} {size} {cpus}", cache.name()))
    };
    let mut lines: Vec<String> = topology.caches.iter().filter_map(line).collect();
    lines.sort();
    lines
}

/// The same of the oracle.
fn oracle_members(oracle: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |cache: &Value| {
        let cpus = text(&cache["cpus"]);
        (!cpus.is_empty()).then(|| format!("{} {} {cpus}", text(&cache["name"]), cache["size_bytes"]))
    };
    let mut lines: Vec<String> =
        oracle["cache_instances"].as_array().into_iter().flatten().filter_map(line).collect();
    lines.sort();
    lines
}

/// Compares the parts of a view the oracle knows; one line per difference.
fn differences(name: &str, machine: &Machine, oracle: &Value) -> Vec<String> {
    let ours = serde_json::to_value(View::of(machine)).expect("a view is JSON");
    let mut lines = Vec::new();
    let mut check = |part: &str, ours: &Value, theirs: &Value| {
        let is_excused =
            ORACLE_DIFFERENCES.iter().any(|(machine, excused, _)| (*machine, *excused) == (name, part));
        if (ours == theirs) == is_excused {
            lines.push(format!("{name}: {part} is {ours}, expected {theirs}"));
        }
    };
    for part in ["packages", "dies", "numa_nodes", "cores", "pus"] {
        check(part, &ours["counts"][part], &oracle["counts"][part]);
    }
    check("cpus", &ours["cpus"], &oracle["cpus"]);
    let (members, oracle_members) = (members(machine), oracle_members(oracle));
    let only = |some: &[String], others: &[String]| -> Vec<String> {
        some.iter().filter(|line| !others.contains(line)).cloned().collect()
    };
    let ours_only = serde_json::json!(only(&members, &oracle_members));
    check("members of caches", &ours_only, &serde_json::json!(only(&oracle_members, &members)));
    check("caches", &ours["caches"], &oracle["caches"]);
    let matrix =
        |value: &Value| serde_json::json!({"os_index": value["os_index"], "values": value["values"]});
    check("distances", &matrix(&ours["distances"]), &matrix(&oracle["numa_distances"]));
    lines
}

/// Reads every machine of a kind and compares it with the values under `key` of its oracle file.
fn check(kind: &str, key: Option<&str>, read: impl Fn(&Path) -> Machine) {
    let Some(zoo) = zoo(kind) else { return };
    let mut wrong = Vec::new();
    for (name, oracle) in expected(&zoo, kind) {
        let oracle = key.map_or(&oracle, |key| &oracle[key]);
        let path = zoo.join(kind).join(format!("{name}.tar.bz2"));
        let start = Instant::now();
        let machine = read(&path);
        let elapsed_ms = start.elapsed().as_millis();
        if !cfg!(debug_assertions) && elapsed_ms > READING_MS_MAX {
            println!("slow: {name} took {elapsed_ms} ms, more than {READING_MS_MAX}");
        }
        wrong.extend(differences(&name, &machine, &oracle["view"]));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

fn tree(path: &Path) -> Machine {
    let machine = describe(&Root::open(path).expect("a recorded tree"), None);
    believed(path, &machine);
    machine
}

/// A machine may contradict itself only as is known of it.
fn believed(path: &Path, machine: &Machine) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_excused = |one: &&Disagreement| {
        let is_it = |(machine, source, _): &(&str, &str, &str)| {
            name == format!("{machine}.tar.bz2") && one.sources()[1] == *source
        };
        CONTRADICTIONS.iter().any(is_it)
    };
    let others: Vec<&Disagreement> = machine.disagreements.iter().filter(|one| !is_excused(one)).collect();
    assert!(others.is_empty(), "{name}: {others:#?}");
}

fn dump(path: &Path) -> Machine {
    let machine = Cpuid::open(path).expect("a recorded dump").describe();
    believed(path, &machine);
    machine
}

#[test]
fn recorded_trees_are_read_as_the_oracle_reads_them() {
    check("sysfs", None, tree);
}

#[test]
fn recorded_dumps_are_read_as_the_oracle_reads_them() {
    check("cpuid", None, dump);
}

#[test]
fn a_machine_recorded_both_ways_is_read_alike_from_each() {
    check("both", Some("sysfs"), tree);
    check("both", Some("cpuid"), dump);
}

#[test]
fn a_tree_and_a_dump_of_one_boot_do_not_contradict_each_other() {
    let Some(zoo) = zoo("both") else { return };
    let path = zoo.join("both/64amd64-4p2n4ca2co.tar.bz2");
    let cpuid = Cpuid::open(&path).expect("a recorded dump");
    let machine = describe(&Root::open(&path).expect("a recorded tree"), Some(&cpuid));
    assert_eq!(machine.disagreements, []);
    assert_eq!(machine.topology.cpus.len(), 64);
    assert!(!machine.tlbs.is_empty());
}

/// Machines of Arm: name, the name of their CPUs, their groups by what the CPUs say, chip, and the lines of L3 in bytes.
type ArmCase =
    (&'static str, &'static str, &'static [(&'static str, u32)], Option<&'static str>, Option<u64>);

const ARM_MACHINES: [ArmCase; 3] = [
    (
        "nvidia-dgx-gb10",
        "Arm Cortex-A725 r0p1 + Arm Cortex-X925 r0p1",
        &[("0-4,10-14", 0x410f_d871), ("5-9,15-19", 0x410f_d851)],
        Some("jep106:0426:8901 revision 0x00000000"),
        Some(64),
    ),
    ("128arm-2pa2n8cluster4co", "HiSilicon Kunpeng-920 r1p0", &[("0-127", 0x481f_d010)], None, Some(128)),
    ("2arm-2c", "Arm Cortex-A9 r2p1", &[("0-1", 0x412f_c091)], None, None),
];

#[test]
fn recorded_arm_machines_are_named_by_their_registers() {
    let Some(zoo) = zoo("sysfs") else { return };
    for (name, cpu, groups, chip, line_bytes) in ARM_MACHINES {
        let machine = tree(&zoo.join("sysfs").join(format!("{name}.tar.bz2")));
        let identity = &machine.identity;
        assert_eq!((identity.name.as_deref(), identity.soc.as_deref()), (Some(cpu), chip), "{name}");
        let found: Vec<(String, u32)> =
            identity.arm.iter().map(|group| (group.cpus.to_string(), group.signature.midr())).collect();
        let expected: Vec<(String, u32)> =
            groups.iter().map(|(cpus, midr)| ((*cpus).to_owned(), *midr)).collect();
        assert_eq!(found, expected, "{name}");
        let last = machine.topology.caches.iter().filter(|cache| cache.level == 3);
        let lines: Vec<_> = last.map(|cache| cache.line_bytes.map(|line| line.0)).collect();
        assert!(
            lines.iter().all(|line| *line == line_bytes) && lines.is_empty() == line_bytes.is_none(),
            "{lines:?}"
        );
        // What only x86 has is neither told nor missed.
        assert_eq!(
            (identity.family, identity.model, identity.stepping, identity.microcode),
            (None, None, None, None)
        );
    }
}
