//! Counter reads in a foreign crate, that is here: `#[inline(always)]` must hold across crates and without optimisation.
#![cfg(target_arch = "x86_64")]

use kernels::ticks;

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn disassembly_rdtsc() -> u64 {
    ticks::rdtsc()
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn disassembly_lfence_rdtsc_lfence() -> u64 {
    ticks::lfence_rdtsc_lfence()
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn disassembly_lfence_rdtsc() -> u64 {
    ticks::lfence_rdtsc()
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn disassembly_mfence_rdtsc() -> u64 {
    ticks::mfence_rdtsc()
}

#[test]
fn counter_reads_are_the_instructions_they_are_named_after() {
    let reads = [
        disassembly_rdtsc,
        disassembly_lfence_rdtsc,
        disassembly_lfence_rdtsc_lfence,
        disassembly_mfence_rdtsc,
    ];
    assert!(std::hint::black_box(reads).into_iter().all(|read| read() != 0));
    let executable = std::env::current_exe().expect("a running program has a path");
    let Some(functions) = super::disassemble("objdump", &executable, "#") else {
        println!("SKIPPED: {}", super::NO_OBJDUMP);
        return;
    };
    let fenced = |instruction: &&str| matches!(*instruction, "lfence" | "mfence" | "rdtsc");
    for (path, expected) in [
        ("disassembly_rdtsc", &["rdtsc"][..]),
        ("disassembly_lfence_rdtsc", &["lfence", "rdtsc"]),
        ("disassembly_lfence_rdtsc_lfence", &["lfence", "rdtsc", "lfence"]),
        ("disassembly_mfence_rdtsc", &["mfence", "rdtsc"]),
    ] {
        let instructions = super::function(&functions, path).iter().map(|i| i.text.as_str());
        assert_eq!(instructions.filter(fenced).collect::<Vec<_>>(), expected, "{path}");
    }
}
