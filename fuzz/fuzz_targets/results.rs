//! Results to compare: CSV, JSON, hyperfine's JSON, XML of the Phoronix Test Suite, records.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = experiments::compare::read("results", bytes);
});
