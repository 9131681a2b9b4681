//! Links of machines that others measured or recorded, as `sidestep sockets infer` tells them.
//!
//! They lie in the zoo beside the repository; where it is absent the test says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn zoo() -> Option<PathBuf> {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/zoo");
    zoo.join("matrices").is_dir().then_some(zoo)
}

fn inferred(file: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sidestep"))
        .args(["sockets", "infer", "--json"])
        .arg(file)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn edge_count(inferred: &Value) -> usize {
    inferred["edges"].as_array().expect("a list").len()
}

#[test]
fn the_links_of_measured_machines_are_those_that_are_known() {
    let Some(zoo) = zoo() else {
        println!("skipped: zoo absent: no measured matrix was inferred from");
        return;
    };
    let magny_cours = inferred(&zoo.join("sysfs/32amd64-4s2n4c-cgroup2.tar.bz2"));
    assert_eq!((magny_cours["verdict"].as_str(), edge_count(&magny_cours)), (Some("identified"), 16));

    for flat in ["sysfs/16amd64-4n4c-cgroup-distance-merge.tar.bz2", "sysfs/16amd64-8n2c.tar.bz2"] {
        let found = inferred(&zoo.join(flat));
        assert_eq!((found["verdict"].as_str(), edge_count(&found)), (Some("not identifiable"), 0), "{flat}");
    }

    let clusters = inferred(&zoo.join("matrices/mlc/sapphirerapids_mlc.txt"));
    let mesh = &clusters["explanation"];
    assert_eq!((mesh["kind"].as_str(), &mesh["packages"]), (Some("mesh"), &2.into()));
    assert_eq!((&mesh["columns"], &mesh["rows"]), (&2.into(), &2.into()));
    assert!(clusters["max_percent"].as_f64().is_some_and(|error| error < 3.0), "{clusters}");
}

#[test]
fn every_matrix_and_every_table_of_distances_is_answered() {
    let Some(zoo) = zoo() else {
        println!("skipped: zoo absent: no recorded table of distances was read");
        return;
    };
    let files = |folder: &str| {
        let entries = std::fs::read_dir(zoo.join(folder)).expect("a folder of the zoo");
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let mut answered = 0;
    for file in ["sysfs", "both", "matrices/mlc"].into_iter().flat_map(files) {
        if file.extension().is_some_and(|extension| extension == "csv") {
            continue;
        }
        let output =
            Command::new(env!("CARGO_BIN_EXE_sidestep")).args(["sockets", "infer"]).arg(&file).output();
        let output = output.expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr);
        // A machine without nodes or without distances gets that as its answer.
        assert!(output.status.success() || said.contains("names no distances"), "{}: {said}", file.display());
        answered += usize::from(output.status.success());
    }
    assert!(answered > 20, "{answered}");
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn what_was_measured_is_inferred_from_as_it_is_explained() {
    let record = "tests/cli/records/sockets-blade.json";
    let inferred = inferred(&repository().join(record));
    assert_eq!((inferred["verdict"].as_str(), edge_count(&inferred)), (Some("identified"), 5));
    assert_eq!(inferred["format"], "sidestep");
}

#[test]
fn cpus_of_two_sockets_are_two_groups_and_are_not_linked_one_by_one() {
    let Some(zoo) = zoo() else {
        println!("skipped: zoo absent: no core-to-core matrix was read");
        return;
    };
    let file = zoo.join("matrices/core-to-core/Dual Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz.csv");
    let found = inferred(&file);
    let groups = found["groups"].as_array().expect("a list");
    let counts: Vec<usize> =
        groups.iter().map(|level| level["members"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!((counts, edge_count(&found)), (vec![2, 20], 0), "{found}");
    assert_eq!((&groups[1]["level"], &groups[1]["members"][0]), (&"smt".into(), &serde_json::json!([0, 20])));
    assert!(groups.iter().all(|level| level["clear"] == true && level["within_ns"].as_f64() < level["between_ns"].as_f64()));
}
