//! `sidestep place` where the kernel refuses `perf_event_open`, as in most containers.

mod filter;
#[path = "../sampler_library/mod.rs"]
mod sampler_library;

use std::process::{Command, Stdio};

/// Two loops at once, for a fraction of a second.
const TWO_LOOPS: &str = "loop() { i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; }; loop & loop & wait";

/// The document of `sidestep place`, without performance events.
fn place(options: &[&str], command: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    sidestep
        .args(["place", "--json", "--seed", "1", "--runs", "1", "--state"])
        .arg(folder.path().join("state"));
    sidestep.args(options).arg("--").args(command);
    sidestep.env(sampler_library::VARIABLE, sampler_library::path()).stdin(Stdio::null());
    filter::forbid_performance_events(&mut sidestep);
    let output = sidestep.output().expect("sidestep can be started");
    let words = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}"))
}

#[test]
fn a_library_in_the_program_takes_the_place_of_the_kernels_clock_and_says_so() {
    let found = place(&[], &["sh", "-c", TWO_LOOPS]);
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
fn who_wants_the_kernels_clock_alone_is_told_that_it_is_refused() {
    let found = place(&["--source", "clock"], &["sh", "-c", TWO_LOOPS]);
    let notes = found["notes"].as_array().expect("a list");
    let says =
        |words: &str| notes.iter().filter_map(|note| note.as_str()).any(|note| note.starts_with(words));
    assert!(
        says("who shares what is not known: cannot watch what is started with perf_event_open"),
        "{notes:#?}"
    );
    let setting = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if setting.trim().parse::<i32>().is_ok_and(|setting| setting <= 2) {
        let is_named =
            notes.iter().filter_map(|note| note.as_str()).any(|note| note.contains("seccomp is on here"));
        assert!(is_named, "{notes:#?}");
    }
}
