//! A machine on paper.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = models::memory::parse(text, "machine.toml");
});
