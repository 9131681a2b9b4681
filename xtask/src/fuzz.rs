//! `cargo xtask fuzz`: every parser against inputs that nobody meant, for a given time, with what was found.
//!
//! Targets are built by cargo-fuzz without a sanitizer: the parsers hold no unsafe code, so what can go wrong is a
//! panic, an overflow (checked here), or an input that takes too long. That needs no nightly compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo;
use crate::totals::Totals;

/// Every parser against inputs that nobody meant
///
/// Builds the targets of fuzz/ with cargo-fuzz and gives each an equal share of the time. Inputs that were found to reach new code are
/// kept below the target folder and used again; an input that fails is kept beside them and named. Without cargo-fuzz or a C++ compiler
/// the task says what is missing and is counted as skipped.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// For all targets together
    #[arg(long, default_value_t = 60)]
    seconds: usize,
    /// One target alone
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

/// An input that takes longer has failed.
const INPUT_SECONDS_MAX: usize = 5;
/// A target that takes more memory has failed; the largest archive that is read decodes to 256 MiB.
const MEMORY_MIB_MAX: usize = 1024;
/// The most bytes of an input: a real report has 3 KiB, a description of a machine 20 KiB.
const INPUT_BYTES_MAX: usize = 32 << 10;

/// A target, and the folders of the repository whose files it begins with.
struct Target {
    name: &'static str,
    seeds: &'static [&'static str],
}

const TARGETS: &[Target] = &[
    Target { name: "acpi_table", seeds: &["fuzz/seeds/acpi_table"] },
    Target { name: "address_space", seeds: &["fuzz/seeds/address_space"] },
    Target { name: "archive", seeds: &["fuzz/seeds/archive"] },
    Target { name: "boot_words", seeds: &["fuzz/seeds/boot_words"] },
    Target { name: "catalogue", seeds: &["flaws"] },
    Target { name: "cpu_set", seeds: &["fuzz/seeds/cpu_set"] },
    Target { name: "cpuid_dump", seeds: &["fuzz/seeds/cpuid_dump"] },
    Target { name: "instructions", seeds: &["fuzz/seeds/instructions"] },
    Target { name: "journals", seeds: &["crates/toggles/tests/journals"] },
    Target {
        name: "latency_matrix",
        seeds: &["fuzz/seeds/latency_matrix", "tests/cli/matrices", "machines"],
    },
    Target { name: "lscpu_report", seeds: &["fuzz/seeds/lscpu_report"] },
    Target { name: "memory_machine", seeds: &["machines", "tests/cli/machines"] },
    Target { name: "node_list", seeds: &["fuzz/seeds/node_list"] },
    Target { name: "opendcdiag", seeds: &["fuzz/seeds/opendcdiag"] },
    Target { name: "perf_records", seeds: &["fuzz/seeds/perf_records"] },
    Target { name: "program_head", seeds: &["fuzz/seeds/program_head"] },
    Target { name: "record", seeds: &["tests/cli/records"] },
    Target { name: "recorded_machine", seeds: &["fuzz/seeds/recorded_machine"] },
    Target { name: "results", seeds: &["fuzz/seeds/results", "examples/phenom-9600", "tests/cli/records"] },
    Target { name: "sample_ring", seeds: &["fuzz/seeds/sample_ring"] },
    Target { name: "smbios", seeds: &["fuzz/seeds/smbios"] },
    Target { name: "sockets_document", seeds: &["tests/cli/records"] },
    Target { name: "wording", seeds: &["fuzz/seeds/wording"] },
    Target { name: "workload", seeds: &["workloads", "fuzz/seeds/workload"] },
    Target { name: "write_faults", seeds: &["fuzz/seeds/write_faults"] },
];

/// `cargo xtask fuzz`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let wanted: Vec<&Target> = match &arguments.target {
        None => TARGETS.iter().collect(),
        Some(name) => vec![named(name)?],
    };
    if let Some(missing) = missing() {
        println!("{missing}");
        return Ok(Totals::one_skipped(format!("fuzz: {missing}")));
    }
    let place = cargo::target().join("fuzz");
    let mut build = cargo::cargo("fuzz build --sanitizer=none --debug-assertions");
    if wanted.len() == 1 {
        build.arg(wanted[0].name);
    }
    anyhow::ensure!(
        cargo::succeeds(build.env("CARGO_TARGET_DIR", &place))?,
        "the targets of fuzz/ do not build; see above"
    );
    let share = (arguments.seconds / wanted.len()).max(1);
    let mut totals = Totals::default();
    println!("\n{:<18} {:>12} {:>9} {:>9}", "target", "executions", "per s", "kept");
    for target in wanted {
        totals.add(one(target, &place, share)?);
    }
    Ok(totals)
}

fn named(name: &str) -> anyhow::Result<&'static Target> {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    let found = TARGETS.iter().find(|target| target.name == name);
    found.with_context(|| format!("--target {name}: there are {}", names.join(", ")))
}

/// What has to be installed first, if anything.
fn missing() -> Option<&'static str> {
    if cargo::find("cargo-fuzz").is_none() {
        return Some("cargo-fuzz is not installed: cargo install cargo-fuzz");
    }
    // libFuzzer comes as C++.
    (cargo::find("c++").is_none() && cargo::find("clang++").is_none())
        .then_some("no C++ compiler was found: install g++ or clang")
}

/// Runs one target for so many seconds.
fn one(target: &Target, place: &Path, seconds: usize) -> anyhow::Result<Totals> {
    let (kept, failed) = (place.join("corpus").join(target.name), place.join("failed"));
    for folder in [&kept, &failed] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut command = Command::new(program(place, target.name));
    command.current_dir(cargo::root()).arg(&kept).args(target.seeds);
    for (flag, value) in [
        ("max_total_time", seconds),
        ("timeout", INPUT_SECONDS_MAX),
        ("rss_limit_mb", MEMORY_MIB_MAX),
        ("max_len", INPUT_BYTES_MAX),
        ("print_final_stats", 1),
    ] {
        command.arg(format!("-{flag}={value}"));
    }
    command.arg(format!("-artifact_prefix={}/{}-", failed.display(), target.name));
    let done = command.output().with_context(|| format!("cannot start the target {}", target.name))?;
    let words = String::from_utf8_lossy(&done.stderr);
    let told = Told::of(&words);
    println!("{:<18} {:>12} {:>9} {:>9}", target.name, told.executions, told.per_second, told.kept);
    if done.status.success() {
        return Ok(Totals::one_passed());
    }
    let is_reason = |line: &&str| ["panicked at", "ERROR: "].iter().any(|word| line.contains(word));
    let reason: Vec<&str> = words.lines().skip_while(|line| !is_reason(line)).take(REASON_LINES).collect();
    let reason = if reason.is_empty() { words.into_owned() } else { reason.join("\n") };
    println!("{reason}");
    let input = told.failed_input.unwrap_or_else(|| "no input was kept".to_owned());
    Ok(Totals::one_failed(format!("fuzz {}: {input}", target.name)))
}

/// Lines that are shown of a target that failed, from the reason on.
const REASON_LINES: usize = 4;

/// Where cargo-fuzz puts a target.
fn program(place: &Path, name: &str) -> PathBuf {
    place.join(crate::tidy::PLATFORM).join("release").join(name)
}

/// What libFuzzer said in the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    executions: u64,
    per_second: u64,
    /// Inputs that reached new code.
    kept: u64,
    failed_input: Option<String>,
}

impl Told {
    fn of(text: &str) -> Self {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            line.and_then(|rest| rest.trim_start_matches(':').trim().parse().ok()).unwrap_or(0)
        };
        Self {
            executions: number("number_of_executed_units"),
            per_second: number("average_exec_per_sec"),
            kept: number("new_units_added"),
            failed_input: text
                .lines()
                .find_map(|line| Some(line.split_once("Test unit written to ")?.1.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_run_and_begins_with_something() {
        let folder = cargo::root().join("fuzz/fuzz_targets");
        let mut found: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        assert_eq!(found, TARGETS.iter().map(|target| target.name).collect::<Vec<_>>());
        let manifest = std::fs::read_to_string(cargo::root().join("fuzz/Cargo.toml")).unwrap();
        for target in TARGETS {
            assert!(manifest.contains(&format!("name = \"{}\"\n", target.name)), "{}", target.name);
            let is_there = |seeds: &&str| cargo::root().join(seeds).is_dir();
            assert!(!target.seeds.is_empty() && target.seeds.iter().all(is_there), "{}", target.name);
        }
    }

    #[test]
    fn the_closing_words_of_a_target_are_read() {
        let text = "Done 12 runs\nstat::number_of_executed_units: 1234\nstat::average_exec_per_sec:     77\n\
                    stat::new_units_added:          5\n";
        assert_eq!(Told::of(text), Told { executions: 1234, per_second: 77, kept: 5, failed_input: None });
        let failed = "artifact_prefix='x'; Test unit written to out/crash-1\n";
        assert_eq!(Told::of(failed).failed_input.as_deref(), Some("out/crash-1"));
    }
}
