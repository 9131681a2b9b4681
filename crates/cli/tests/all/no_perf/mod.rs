//! `sidestep place` where the kernel refuses `perf_event_open`, as in most containers.

mod filter;

use std::process::{Command, Output, Stdio};

/// Two loops at once, for a fraction of a second.
const TWO_LOOPS: &str = "loop() { i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; }; loop & loop & wait";

/// What `sidestep place` does without performance events.
fn place(command: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    sidestep
        .args(["place", "--json", "--seed", "1", "--runs", "1", "--state"])
        .arg(folder.path().join("state"));
    sidestep.arg("--").args(command).stdin(Stdio::null());
    filter::forbid_performance_events(&mut sidestep);
    sidestep.output().expect("sidestep can be started")
}

#[test]
fn a_kernel_that_refuses_samples_leaves_a_placement_by_cpu_time_and_says_what_to_allow() {
    let output = place(&["sh", "-c", TWO_LOOPS]);
    let words = String::from_utf8_lossy(&output.stderr);
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}"));
    assert!(found["sharing"].is_null(), "{found:#}");
    let notes = found["notes"].as_array().expect("a list").iter().filter_map(|note| note.as_str());
    let refusals: Vec<&str> = notes.filter(|note| note.contains("perf_event_open")).collect();
    let [refusal] = refusals[..] else { panic!("one line: {refusals:#?}") };
    assert!(refusal.starts_with("who shares what is not known: cannot watch what is started"), "{refusal}");
    assert!(refusal.contains("kernel.perf_event_paranoid"), "{refusal}");
    let setting = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if setting.trim().parse::<i32>().is_ok_and(|setting| setting <= 2) {
        assert!(refusal.contains("seccomp is on here") && refusal.contains("--cap-add PERFMON"), "{refusal}");
    }
}
