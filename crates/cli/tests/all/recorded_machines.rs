//! What `sidestep flaws` says of recorded machines with known flaws: who has them, who is repaired, what can be done.
//!
//! The recordings lie in the zoo beside the repository; where it is absent the test says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A recording and what has to be said of it.
struct Case {
    /// Option and file below the zoo.
    recording: (&'static str, &'static str),
    /// Flaws that it has.
    here: &'static [&'static str],
    /// Flaws that it does not have.
    not_here: &'static [&'static str],
    /// A flaw, and words of its verdict: why it is thought so, or what can be done.
    says: &'static [(&'static str, &'static str)],
    /// Distances between its nodes, each once, if it tells any.
    distances: &'static [u64],
}

const NOT_OF_AMD: [&str; 5] = ["meltdown", "l1tf", "mds", "itlb-multihit", "gds"];

const CASES: [Case; 6] = [
    // Eight Opteron 865: two cores each, revision E, no invariant TSC.
    Case {
        recording: ("--sysroot", "sysfs/16amd64-8n2c.tar.bz2"),
        here: &["k8-c1-ramping", "k8-flush-filter"],
        not_here: &["amd-298", "amd-400", "bulldozer-modules"],
        says: &[
            ("k8-c1-ramping", "sidestep toggles show k8-c1-ramping"),
            ("k8-c1-ramping", "clocksource=hpet"),
        ],
        distances: &[10, 20],
    },
    // Four Opteron 8347 HE: Barcelona of stepping B3.
    Case {
        recording: ("--sysroot", "sysfs/16amd64-4n4c-cgroup-distance-merge.tar.bz2"),
        here: &["amd-383", "amd-400", "amd-721"],
        not_here: &["amd-298", "k8-c1-ramping", "bulldozer-modules"],
        says: &[("amd-298", "it is repaired in this stepping")],
        distances: &[10, 20],
    },
    // Four Opteron 6134, Magny-Cours: two nodes in each package, one or two hops apart.
    Case {
        recording: ("--sysroot", "sysfs/32amd64-4s2n4c-cgroup2.tar.bz2"),
        here: &["amd-383", "amd-400"],
        not_here: &["amd-298", "k8-c1-ramping", "bulldozer-modules"],
        says: &[("snoop-asymmetry", "HT Assist")],
        distances: &[10, 16, 22],
    },
    Case {
        recording: ("--cpuid", "cpuid/AMD-K10-MagnyCours-2xOpteron-6164HE.tar.bz2"),
        here: &["amd-383", "amd-400"],
        not_here: &["amd-298", "k8-c1-ramping", "bulldozer-modules"],
        says: &[],
        distances: &[],
    },
    // Four Opteron 6276 and 6272, Bulldozer: two cores in each module.
    Case {
        recording: ("--sysroot", "sysfs/64amd64-4s2n4ca2co.tar.bz2"),
        here: &["bulldozer-modules", "bulldozer-l1i", "retbleed"],
        not_here: &["amd-298", "amd-400", "k8-c1-ramping"],
        says: &[("bulldozer-modules", "run one thread per module")],
        distances: &[10, 16, 22],
    },
    Case {
        recording: ("--sysroot", "both/64amd64-4p2n4ca2co.tar.bz2"),
        here: &["bulldozer-modules", "bulldozer-l1i", "retbleed"],
        not_here: &["amd-298", "amd-400", "k8-c1-ramping"],
        says: &[("bulldozer-modules", "sidestep toggles show affinity")],
        distances: &[10, 16, 22],
    },
];

#[test]
fn recorded_opterons_are_reported_their_flaws_and_what_can_be_done() {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/zoo");
    if !zoo.join("sysfs").is_dir() {
        println!("skipped: zoo absent: no recorded machine was judged");
        return;
    }
    for case in &CASES {
        let (option, file) = case.recording;
        let recording = zoo.join(file);
        let flaws = json_of("flaws", option, &recording);
        for (ids, expected) in [(case.here, "yes"), (case.not_here, "no"), (NOT_OF_AMD.as_slice(), "no")] {
            for id in ids {
                assert_eq!(of(&flaws, id)["affected"], expected, "{file}: {id}");
            }
        }
        for (id, words) in case.says {
            let verdict = of(&flaws, id).to_string();
            assert!(verdict.contains(words), "{file}: {id} lacks {words:?}: {verdict}");
        }
        let machine = json_of("machine", option, &recording);
        assert_eq!(distances(&machine), case.distances, "{file}");
    }
}

fn json_of(command: &str, option: &str, recording: &PathBuf) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sidestep"))
        .args([command, "--json", option])
        .arg(recording)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn of<'a>(document: &'a Value, id: &str) -> &'a Value {
    let flaws = document["flaws"].as_array().expect("a list of flaws");
    flaws.iter().find(|flaw| flaw["id"] == id).unwrap_or_else(|| panic!("{id} is in the catalogue"))
}

/// Distances between nodes, ascending, each once.
fn distances(machine: &Value) -> Vec<u64> {
    let nodes = machine["topology"]["nodes"].as_array().expect("a list of nodes");
    let mut all: Vec<u64> = nodes
        .iter()
        .filter_map(|node| node["distances"].as_array())
        .flatten()
        .filter_map(Value::as_u64)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}
