//! What `sidestep clock` keeps: records that other commands open.

use std::path::Path;
use std::process::{Command, Output};

fn sidestep(arguments: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_sidestep");
    Command::new(binary).args(arguments).output().expect("the command runs")
}

fn machine() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines/synthetic-one-cpu");
    root.to_str().expect("a path of text").to_owned()
}

#[test]
fn a_record_of_clocks_is_opened_by_show_and_never_overwritten() {
    let machine = machine();
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("run");
    let place = place.to_str().expect("a path of text");
    let keep = || sidestep(&["clock", "check", "--sysroot", &machine, "--record", place]);
    let first = keep();
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    assert!(String::from_utf8_lossy(&first.stdout).contains("report.html"), "{first:?}");
    let shown = sidestep(&["show", "--json", place]);
    let record: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("a record");
    assert_eq!(record["clock_check"]["kernel"]["clocksource"], "kvm-clock");
    let again = keep();
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("already holds record.json"), "{again:?}");
}

#[test]
fn what_could_not_begin_leaves_no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("run");
    let path = place.to_str().expect("a path of text");
    for command in ["check", "cost"] {
        let ended = sidestep(&["clock", command, "--cpus", "16000", "--record", path]);
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        assert!(!place.exists());
    }
}
