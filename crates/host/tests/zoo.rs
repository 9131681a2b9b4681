//! Every recorded machine of the zoo against the values that lstopo 2.9.0 gives for it.
//!
//! The zoo lies beside the repository; where it does not, each test says which machines it skips.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use host::{Cpuid, Root, describe};
use machine::{Machine, View};
use serde_json::Value;

/// Differences that are the oracle's: machine, part of the view, why sidestep says something else.
const ORACLE_DIFFERENCES: [(&str, &str, &str); 1] = [(
    "Zhaoxin-2xCentaurHauls-KaiSheng-KH-40000",
    "dies",
    "leaf 1FH lists level type 5 (die) from APIC bit 4 on: two dies in each package; lstopo 2.9 reads 1FH for Intel only",
)];

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
    describe(&Root::open(path).expect("a recorded tree"), None)
}

fn dump(path: &Path) -> Machine {
    Cpuid::open(path).expect("a recorded dump").describe()
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
