//! Two thousand real reports of lscpu: each is counted under its family, model and stepping.
//!
//! The reports lie in the zoo beside the repository; where it is absent the test says so.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Columns of the zoo's index.
const FAMILY: usize = 2;
const MODEL: usize = 3;
const STEPPING: usize = 4;

#[test]
fn every_report_of_the_zoo_is_counted_under_its_signature() {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/zoo/lscpu");
    let Ok(index) = std::fs::read_to_string(zoo.join("index.csv")) else {
        println!("skipped: zoo absent: no report of lscpu was counted");
        return;
    };
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for line in index.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let signature = if cells[FAMILY].is_empty() {
            "other".to_owned()
        } else {
            format!("{}-{}-{}", cells[FAMILY], cells[MODEL], cells[STEPPING])
        };
        *expected.entry(signature).or_default() += 1;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_sidestep"))
        .args(["flaws", "--json", "--lscpu"])
        .arg(zoo.join("lscpu-sample.tar.gz"))
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let counted: BTreeMap<String, u64> =
        serde_json::from_value(document["by_signature"].clone()).expect("counts");
    assert_eq!(counted, expected);
    assert_eq!(document["reports"], expected.values().sum::<u64>());
    assert_eq!(document["unreadable"].as_array().map(Vec::len), Some(0));
    // Stock kernels protect on request: they are no machines without protection.
    for (id, on_request) in [("ssb", 345), ("spectre-v2-user", 330)] {
        let row = document["population"].as_array().expect("rows").iter().find(|row| row["id"] == id);
        assert_eq!(row.expect("in the catalogue")["on_request"], on_request, "{id}");
    }
    for row in document["population"].as_array().expect("rows") {
        let states = ["protected", "on_request", "partly", "not_protected", "protection_unknown"];
        let sum: Option<u64> = states.iter().map(|state| row[state].as_u64()).sum();
        assert_eq!(row["affected"].as_u64(), sum, "{row}");
    }
    let phenom = document["population"].as_array().expect("rows").iter().find(|row| row["id"] == "amd-298");
    assert_eq!(phenom.expect("in the catalogue")["affected"], expected["16-2-2"]);
}

#[test]
fn a_dash_stands_for_standard_input() {
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/lscpu_report/phenom");
    let output = Command::new(env!("CARGO_BIN_EXE_sidestep"))
        .args(["flaws", "--json", "--lscpu", "-"])
        .stdin(std::fs::File::open(report).expect("it is committed"))
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["reports"], 1);
}
