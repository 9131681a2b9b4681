//! `sidestep place` where the kernel refuses `perf_event_open`, as in most containers.

mod filter;
#[path = "../sampler_library/mod.rs"]
mod sampler_library;

use std::process::{Command, Output, Stdio};

/// Two loops at once, for a fraction of a second.
const TWO_LOOPS: &str = "loop() { i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; }; loop & loop & wait";

/// What `sidestep place` does without performance events.
fn place(options: &[&str], command: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    sidestep
        .args(["place", "--json", "--seed", "1", "--runs", "1", "--state"])
        .arg(folder.path().join("state"));
    sidestep.args(options).arg("--").args(command);
    sidestep.env(sampler_library::VARIABLE, sampler_library::path()).stdin(Stdio::null());
    filter::forbid_performance_events(&mut sidestep);
    sidestep.output().expect("sidestep can be started")
}

#[test]
fn a_library_in_the_program_takes_the_place_of_the_kernels_clock_and_says_so() {
    let output = place(&[], &["sh", "-c", TWO_LOOPS]);
    let words = String::from_utf8_lossy(&output.stderr);
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}"));
    let sharing = &found["sharing"];
    assert_eq!(sharing["source"], "signal_registers", "{}", found["notes"]);
    assert!(
        sharing["samples"].as_u64() > Some(0) && sharing["undecodable"].as_u64() == Some(0),
        "{sharing:#}"
    );
    let spots = sharing["blind_spots"].as_array().expect("a list");
    let says =
        |words: &str| spots.iter().filter_map(|spot| spot.as_str()).any(|spot| spot.starts_with(words));
    assert!(says("a library in the program had to do it: cannot watch"), "{spots:#?}");
}

#[test]
fn who_wants_the_kernels_clock_alone_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mark = folder.path().join("mark").display().to_string();
    let output = place(&["--source", "clock"], &["touch", &mark]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(words.contains("cannot sample the threads with --source clock: cannot watch"), "{words}");
    assert!(words.contains("perf_event_open") && !folder.path().join("mark").exists(), "{words}");
    let setting = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if setting.trim().parse::<i32>().is_ok_and(|setting| setting <= 2) {
        assert!(words.contains("seccomp is on here"), "{words}");
    }
}
