//! `sidestep flaws` as a health check: exit codes on recorded kernels, alone and against a baseline.

use std::path::Path;
use std::process::{Command, Output};

const CPUINFO: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 158\nstepping\t: 9\n\
                       flags\t\t: fpu ssbd ibpb\n\n";
const STOCK: &str = "Mitigation: Speculative Store Bypass disabled via prctl";

/// A recorded machine whose kernel says this of SSB.
fn recording(folder: &Path, ssb: &str) {
    let vulnerabilities = folder.join("sys/devices/system/cpu/vulnerabilities");
    std::fs::create_dir_all(&vulnerabilities).expect("folders");
    std::fs::create_dir_all(folder.join("proc")).expect("folders");
    std::fs::write(folder.join("proc/cpuinfo"), CPUINFO).expect("a file");
    std::fs::write(vulnerabilities.join("spec_store_bypass"), format!("{ssb}\n")).expect("a file");
}

fn flaws(sysroot: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sidestep"))
        .args(["flaws", "--sysroot"])
        .arg(sysroot)
        .args(more)
        .output()
        .expect("the binary runs")
}

#[test]
fn a_stock_kernel_passes_the_gate_and_a_worse_one_fails_with_its_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (stock, open) = (folder.path().join("stock"), folder.path().join("open"));
    recording(&stock, STOCK);
    recording(&open, "Vulnerable");
    let baseline = folder.path().join("baseline.json");
    std::fs::write(&baseline, flaws(&stock, &["--json"]).stdout).expect("a file");
    let open_baseline = folder.path().join("open.json");
    std::fs::write(&open_baseline, flaws(&open, &["--json"]).stdout).expect("a file");
    let (baseline, open_baseline) =
        (baseline.to_str().expect("UTF-8"), open_baseline.to_str().expect("UTF-8"));
    for (machine, more, code, says) in [
        (&stock, &["--gate"][..], 0, ""),
        (&open, &["--gate"], 1, "ssb: not protected, says the kernel"),
        (&open, &[], 0, ""),
        // On request is no failure, unless asked for.
        (&stock, &["--gate", "--strict"], 1, ""),
        (&stock, &["--strict"], 3, ""),
        (&stock, &["--gate", "--expect", baseline], 0, ""),
        (&open, &["--gate", "--expect", baseline], 1, "ssb: not protected, and in the baseline on request"),
        (&open, &["--gate", "--expect", open_baseline], 0, ""),
        (&stock, &["--gate", "--expect", open_baseline], 0, ""),
        (&stock, &["--gate", "--expect", "/nowhere"], 2, "/nowhere"),
    ] {
        let output = flaws(machine, &[&["--quiet"], more].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{machine:?} {more:?}: {stderr}");
        assert!(stderr.contains(says), "{more:?}: {stderr}");
    }
}

#[test]
fn the_list_shows_the_state_and_a_command_that_can_be_copied() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    recording(folder.path(), STOCK);
    let text = String::from_utf8(flaws(folder.path(), &[]).stdout).expect("UTF-8");
    let row = text.lines().find(|line| line.starts_with("ssb ")).unwrap_or_else(|| panic!("{text}"));
    assert!(row.contains("on request") && row.ends_with(" spec_store_bypass_disable=on"), "{row}");
    let json: serde_json::Value =
        serde_json::from_slice(&flaws(folder.path(), &["--json"]).stdout).expect("JSON");
    let ssb = json["flaws"].as_array().expect("a list").iter().find(|flaw| flaw["id"] == "ssb").expect("ssb");
    assert_eq!((ssb["affected"].as_str(), ssb["protected"].as_str()), (Some("yes"), Some("on_request")));
    assert_eq!(ssb["fix"], "spec_store_bypass_disable=on");
    assert_eq!(json["gate"].as_array().map(Vec::len), Some(0));
}
