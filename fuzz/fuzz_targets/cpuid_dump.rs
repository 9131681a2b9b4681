//! CPUID answers of up to three CPUs, as a dump holds them.
#![no_main]

use host::Cpuid;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let cpus = text.splitn(3, "\n\n").zip(0..).map(|(answers, cpu)| (cpu, answers));
    if let Some(cpuid) = Cpuid::of_texts(cpus) {
        let _ = cpuid.describe();
    }
});
