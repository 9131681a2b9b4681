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
    let phenom = document["population"].as_array().expect("rows").iter().find(|row| row["id"] == "amd-298");
    assert_eq!(phenom.expect("in the catalogue")["affected"], expected["16-2-2"]);
}
