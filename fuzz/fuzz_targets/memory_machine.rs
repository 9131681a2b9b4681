//! A machine on paper: its memory, its schedulers.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = models::memory::parse(text, "machine.toml");
    let _ = models::scheduling::parse(text, "machine.toml");
});
