//! A machine on paper: its memory, its schedulers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = models::memory::parse(text, "machine.toml");
    let _ = models::scheduling::parse(text, "machine.toml");
});
