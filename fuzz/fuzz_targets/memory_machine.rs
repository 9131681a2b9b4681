//! A simulated machine: its memory, its schedulers.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = models::parse::<models::memory::MemoryMachine>(text, "machine.toml");
    let _ = models::parse::<models::scheduling::SchedulingMachine>(text, "machine.toml");
});
