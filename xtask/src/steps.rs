//! `cargo xtask test`: everything a change has to pass, step by step, each with its time, ending in one line.

mod beside;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context;

use crate::libtest::Reader;
use crate::totals::Totals;
use crate::{browser, cargo, fresh, golden, lab, licences, packages};
use beside::Beside;

/// How a step is done.
#[derive(Clone, Copy)]
enum Step {
    /// By cargo, with these words.
    Cargo(&'static str),
    /// By `cargo test` with these words, its results counted.
    Tests(&'static str),
    /// By ourselves.
    Own(fn() -> anyhow::Result<Totals>),
    /// By a task of ours in a process of its own.
    Beside {
        /// Its words.
        task: &'static str,
        /// It starts together with the step of this heading, and uses what that leaves of the CPUs.
        with: &'static str,
    },
}

/// The other architecture on which sidestep has to compile.
const OTHER_TARGET: &str = "aarch64-unknown-linux-gnu";

const LINTS: &str = "lints";
const GOLDEN: &str = "golden command lines";

/// Each with its heading.
const STEPS: &[(&str, Step)] = &[
    ("packages the tests need", Step::Own(|| Ok(packages::ensure()))),
    ("format: cargo fmt --all", Step::Cargo("fmt --all --check")),
    (
        LINTS,
        Step::Cargo("clippy --quiet --workspace --exclude evidence --all-targets --locked -- -D warnings"),
    ),
    ("another architecture, checked alone", Step::Own(other_target)),
    ("tests", Step::Tests("test --workspace --exclude evidence --locked --no-fail-fast -- --show-output")),
    ("documentation: cargo doc", Step::Own(documentation)),
    ("licences: cargo metadata against deny.toml", Step::Own(licences::check)),
    ("advisories and sources: cargo deny", Step::Own(cargo_deny)),
    // It builds in a folder of its own, with what the other builds leave of the CPUs.
    ("the program", Step::Beside { task: "dist --program-alone", with: LINTS }),
    // What measures has the machine for itself.
    ("a quick check-up, its record and its pages", Step::Own(browser::make)),
    (GOLDEN, Step::Own(golden::run)),
    ("its pages in headless Chromium", Step::Beside { task: "browser --made", with: GOLDEN }),
    // It waits for Slurm most of the time.
    ("a fleet of eight nodes on a Slurm of its own", Step::Beside { task: "fleet-test", with: GOLDEN }),
    ("fresh documents against their schemas", Step::Own(fresh::check)),
    ("machines whose truth is known, in QEMU", Step::Own(lab::check)),
];

/// `cargo xtask test`.
pub fn run() -> anyhow::Result<Totals> {
    let started = Instant::now();
    let mut totals = Totals::default();
    let mut others: BTreeMap<&str, Beside> = BTreeMap::new();
    for (index, (heading, step)) in STEPS.iter().enumerate() {
        println!("\n== {}/{} {heading}", index + 1, STEPS.len());
        let begun = Instant::now();
        for (name, other) in STEPS {
            if let Step::Beside { task, with } = other
                && with == heading
            {
                others.insert(name, Beside::start(task)?);
            }
        }
        let result = match step {
            Step::Cargo(words) => one(words, heading),
            Step::Tests(words) => counted(words),
            Step::Own(step) => step(),
            Step::Beside { with, .. } => {
                others.remove(heading).with_context(|| format!("no step \"{with}\" before it"))?.end()
            }
        };
        let result = result.unwrap_or_else(|error| Totals::one_failed(format!("{heading}: {error:#}")));
        println!("== {result} in {:.1} s", begun.elapsed().as_secs_f64());
        totals.add(result);
    }
    println!("\n== all steps in {:.1} s", started.elapsed().as_secs_f64());
    Ok(totals)
}

/// All crates that ship, for another architecture, without linking: its standard library is all that this needs.
fn other_target() -> anyhow::Result<Totals> {
    if !has_standard_library(OTHER_TARGET) && !can_add(OTHER_TARGET)? {
        let why = format!("no standard library of {OTHER_TARGET} here: rustup target add {OTHER_TARGET}");
        println!("{why}");
        return Ok(Totals::one_skipped(format!("another architecture: {why}")));
    }
    one(
        "check --quiet -p cli -p sidestep-clock --locked --target aarch64-unknown-linux-gnu",
        "another architecture",
    )
}

fn has_standard_library(target: &str) -> bool {
    let asked =
        cargo::output(Command::new(cargo::rustc()).args(["--print", "target-libdir", "--target", target]));
    asked.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

fn can_add(target: &str) -> anyhow::Result<bool> {
    let Some(rustup) = cargo::find("rustup") else { return Ok(false) };
    cargo::succeeds(Command::new(rustup).args(["target", "add", target]))
}

/// Lines of a test program that died which are repeated: enough to name the test it was in.
const LAST_LINES: usize = 40;

/// Runs `cargo test` with these arguments, shows what failed, and counts its results.
fn counted(words: &str) -> anyhow::Result<Totals> {
    println!("cargo {words}");
    let mut reader = Reader::default();
    let mut last = VecDeque::with_capacity(LAST_LINES);
    let passed = cargo::follow(&mut cargo::cargo(words), |line| {
        if reader.see(line) {
            println!("{line}");
        }
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        last.push_back(line.to_owned());
    })?;
    let mut totals = reader.finish();
    if !passed && totals.failed == 0 {
        for line in &last {
            println!("{line}");
        }
        totals.add(Totals::one_failed("cargo test: did not build or a test program died; see above"));
    }
    Ok(totals)
}

fn documentation() -> anyhow::Result<Totals> {
    let mut command = cargo::cargo("doc --quiet --workspace --exclude evidence --no-deps --locked");
    let passed = cargo::succeeds(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Totals::one(passed, "documentation: cargo doc --workspace --no-deps"))
}

fn cargo_deny() -> anyhow::Result<Totals> {
    if cargo::find("cargo-deny").is_none() {
        println!("cargo-deny is not installed (cargo install cargo-deny); the licence check above has run");
        return Ok(Totals::one_skipped("cargo deny: not installed"));
    }
    one("deny check", "cargo deny check")
}

fn one(words: &str, name: &str) -> anyhow::Result<Totals> {
    println!("cargo {words}");
    let passed = cargo::succeeds(&mut cargo::cargo(words))?;
    Ok(Totals::one(passed, name))
}
