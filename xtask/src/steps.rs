//! `cargo xtask test`: everything a change has to pass, step by step, each with its time, ending in one line.

mod beside;

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use anyhow::Context;

use crate::libtest::Reader;
use crate::totals::Totals;
use crate::{arm64, browser, cargo, dependencies, golden, lab, packages};
use beside::Beside;

/// Everything a change has to pass
///
/// Debian packages, fmt, clippy, tests (unit, golden, property, disassembly, tidy), licences and sources of what is foreign, the program
/// as tests use it, a quick check-up with its record and pages, golden command lines, fresh documents against their schemas, and two
/// machines of the lab. A step that fails does not stop the others. The last line is `N passed, N failed, N skipped`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Also what a release has to pass: documentation, arm64, a fleet on Slurm, all machines of the lab, and what people install
    #[arg(long)]
    all: bool,
}

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
    Task(&'static str),
    /// The same, begun together with the step of this heading: it uses what that leaves of the CPUs.
    Beside(&'static str, &'static str),
}

/// Who has to pass a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Change,
    Release,
}

const LINTS: &str = "lints";
const GOLDEN: &str = "golden command lines";
const RUSTDOC: &str = "documentation";

/// Each with its heading. `evidence` is no part of it: it measures, for hours.
const STEPS: &[(&str, Of, Step)] = &[
    ("packages the tests need", Of::Change, Step::Own(|| Ok(packages::ensure()))),
    ("format: cargo fmt --all", Of::Change, Step::Cargo("fmt --all --check")),
    (
        LINTS,
        Of::Change,
        Step::Cargo("clippy --quiet --workspace --exclude evidence --all-targets --locked -- -D warnings"),
    ),
    (
        "tests",
        Of::Change,
        Step::Tests("test --workspace --exclude evidence --locked --no-fail-fast -- --show-output"),
    ),
    (RUSTDOC, Of::Release, Step::Cargo("doc --quiet --workspace --no-deps --locked")),
    ("packages: licences, requirements, sources", Of::Change, Step::Own(dependencies::check)),
    // It builds in a folder of its own, with what the other builds leave of the CPUs.
    ("the program", Of::Change, Step::Beside("dist --program-alone", LINTS)),
    // What measures has the machine for itself.
    ("a quick check-up, its record and its pages", Of::Change, Step::Own(browser::make)),
    (GOLDEN, Of::Change, Step::Own(golden::run)),
    ("its pages in headless Chromium", Of::Change, Step::Beside("browser --made", GOLDEN)),
    ("fresh documents against their schemas", Of::Change, Step::Beside("fresh", GOLDEN)),
    // It waits for Slurm most of the time.
    ("a fleet of eight nodes on a Slurm of its own", Of::Release, Step::Beside("fleet-test", GOLDEN)),
    ("another architecture", Of::Release, Step::Own(arm64::check)),
    ("machines whose truth is known, in QEMU", Of::Change, Step::Own(lab::check)),
    ("all other machines whose truth is known", Of::Release, Step::Own(lab::check_others)),
    ("what people install", Of::Release, Step::Task("dist")),
];

/// `cargo xtask test`.
///
/// # Errors
/// A step cannot be begun.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let started = Instant::now();
    let mut totals = Totals::default();
    let mut others: BTreeMap<&str, Beside> = BTreeMap::new();
    let chosen = || STEPS.iter().filter(|(_, of, _)| arguments.all || *of == Of::Change);
    for (index, (heading, _, step)) in chosen().enumerate() {
        println!("\n== {}/{} {heading}", index + 1, chosen().count());
        let begun = Instant::now();
        for (name, _, other) in chosen() {
            if let Step::Beside(task, with) = other
                && with == heading
            {
                others.insert(name, Beside::start(task)?);
            }
        }
        let result = match step {
            Step::Cargo(words) => one(words, heading),
            Step::Tests(words) => counted(words),
            Step::Own(step) => step(),
            Step::Task(task) => Beside::start(task).and_then(Beside::end),
            Step::Beside(_, with) => {
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

fn one(words: &str, name: &str) -> anyhow::Result<Totals> {
    println!("cargo {words}");
    let mut command = cargo::cargo(words);
    let passed = cargo::succeeds(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Totals::one(passed, name))
}
