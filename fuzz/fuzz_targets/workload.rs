//! A workload, and a profile of the Phoronix Test Suite with a log: parted by lines of dashes.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use workloads::pts;

fuzz_target!(|text: &str| {
    if let Ok(workload) = workloads::read("workload.toml", text) {
        let _ = workload.script();
    }
    let mut parts = text.split("\n---\n");
    let mut part = || parts.next().unwrap_or_default();
    let (definition, results, log) = (part(), part(), part());
    if let Ok(profile) = pts::read(definition, Some(results)) {
        assert!(profile.result(log, "-n 1").map_or(true, f64::is_finite));
        let _ = profile.rehearse();
    }
});
