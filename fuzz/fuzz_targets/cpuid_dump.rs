//! CPUID answers of up to three CPUs, as a dump holds them.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use host::Cpuid;

fuzz_target!(|text: &str| {
    let cpus = text.splitn(3, "\n\n").zip(0..).map(|(answers, cpu)| (cpu, answers));
    if let Some(cpuid) = Cpuid::of_texts(cpus) {
        let _ = cpuid.describe();
    }
});
