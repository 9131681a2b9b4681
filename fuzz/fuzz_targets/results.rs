//! Results to compare: CSV, JSON, hyperfine's JSON, XML of the Phoronix Test Suite, records.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = experiments::compare::read("results", bytes);
});
