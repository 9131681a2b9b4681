//! A workload, as a user writes it.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(workload) = workloads::read("workload.toml", text) {
        let _ = workload.script();
    }
});
