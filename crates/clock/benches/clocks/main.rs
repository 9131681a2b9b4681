//! The clock against its peers: cost, order between CPUs, calibration; `cargo bench -p sidestep-clock -- cost`.
//!
//! Each section prints a table and, where a target was set, whether it was met. Nothing here is a test: a loaded machine gives
//! other numbers.

mod calibration;
mod causality;
mod cost;

use std::process::ExitCode;

/// A section: its name on the command line, and what it does; false if a target was missed.
type Section = (&'static str, fn() -> bool);

const SECTIONS: &[Section] = &[
    ("cost", cost::run),
    ("causality", causality::run),
    ("faults", causality::run_faulted),
    ("calibration", calibration::run),
];

fn main() -> ExitCode {
    // `cargo bench` adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let Some(word) = words.iter().find(|word| SECTIONS.iter().all(|(name, _)| name != word)) {
        let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
        eprintln!("{word}: no such section; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    let needed =
        SECTIONS.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|word| word == name));
    let missed = needed.filter(|(_, run)| !run()).map(|(name, _)| *name).collect::<Vec<_>>();
    if !missed.is_empty() {
        println!("missed a target: {}", missed.join(", "));
    }
    ExitCode::from(u8::from(!missed.is_empty()))
}

/// Pins the calling thread; panics where that is not allowed, as nothing could be measured then.
pub(crate) fn pin(cpus: &[u32]) {
    // SAFETY: a CPU set is plain bits, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: the numbers come from the kernel, for this very set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: 0 is the calling thread; the set is valid and its size is given.
    let status = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    assert!(status == 0, "the kernel gave these CPUs and now refuses them");
}

/// Two CPUs that differ, if this process has two.
pub(crate) fn two_cpus() -> Option<[u32; 2]> {
    let cpus = clock::allowed_cpus();
    Some([*cpus.first()?, *cpus.last()?]).filter(|[first, last]| first != last)
}
