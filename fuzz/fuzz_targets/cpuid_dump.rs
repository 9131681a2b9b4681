//! CPUID answers of up to three CPUs, as a dump holds them, or as one text that people paste.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use host::Cpuid;

fuzz_target!(|text: &str| {
    let cpus = text.splitn(3, "\n\n").zip(0..).map(|(answers, cpu)| (cpu, answers));
    let dumps = [Cpuid::of_texts(cpus), Cpuid::of_report(text).ok()];
    for cpuid in dumps.into_iter().flatten() {
        let _ = cpuid.describe();
    }
});
