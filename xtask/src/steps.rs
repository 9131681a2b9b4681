//! `cargo xtask test`: everything a change has to pass, step by step, each with its time, ending in one line.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::flags::Flags;
use crate::libtest::Reader;
use crate::totals::Totals;
use crate::{browser, cargo, fuzz, golden, licences, packages, schema};

/// The rest of `cargo xtask test --help`.
pub const HELP: &str = "Steps, in this order: Debian packages, fmt, clippy, fuzz targets and all crates for
arm64 (both checked, not built), tests (unit, golden, property, disassembly, tidy), kernels in a release build, doc,
licences, cargo deny where installed, release build, golden command lines, fresh documents against their schemas, a quick
check-up with its record and report.
A step that fails does not stop the others. The last line is `N passed, N failed, N skipped`.
";

/// One step: its heading and what it does.
type Step = (&'static str, fn() -> anyhow::Result<Totals>);

/// The other architecture on which sidestep has to compile.
const OTHER_TARGET: &str = "aarch64-unknown-linux-gnu";

const STEPS: &[Step] = &[
    ("Debian packages the tests need", debian_packages),
    ("format: cargo fmt --check", format),
    ("lints: cargo clippy", clippy),
    ("fuzz targets: cargo check in fuzz", fuzz::check),
    ("another architecture: cargo check --target aarch64-unknown-linux-gnu", other_target),
    ("tests: cargo test --workspace", tests),
    ("tests of the kernels as they are measured: cargo test --release", kernel_tests),
    ("documentation: cargo doc", documentation),
    ("licences: cargo metadata against deny.toml", licences::check),
    ("advisories and sources: cargo deny", cargo_deny),
    ("release build", release_build),
    ("golden command lines", golden::check),
    ("fresh documents against their schemas", schema::check_fresh),
    ("a quick check-up: its record, and its report in headless Chromium", browser::check_fresh_report),
];

/// `cargo xtask test`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    Flags::parse(arguments, &[], &[])?;
    let started = Instant::now();
    let mut totals = Totals::default();
    for (index, (heading, step)) in STEPS.iter().enumerate() {
        println!("\n== {}/{} {heading}", index + 1, STEPS.len());
        let begun = Instant::now();
        let result = step().unwrap_or_else(|error| Totals::one_failed(format!("{heading}: {error:#}")));
        println!("== {result} in {:.1} s", begun.elapsed().as_secs_f64());
        totals.add(result);
    }
    println!("\n== all steps in {:.1} s", started.elapsed().as_secs_f64());
    print!("{}", totals.closing());
    Ok(totals)
}

// A step is a row of `STEPS`; those that cannot fail have the same shape as those that can.
#[expect(clippy::unnecessary_wraps)]
fn debian_packages() -> anyhow::Result<Totals> {
    Ok(packages::ensure())
}

fn format() -> anyhow::Result<Totals> {
    one(&["fmt", "--all", "--check"], "format: run cargo fmt --all")
}

fn clippy() -> anyhow::Result<Totals> {
    let arguments = ["clippy", "--quiet", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    one(&arguments, "lints: cargo clippy --workspace --all-targets")
}

/// All crates for another architecture, without linking: its standard library is all that this needs.
fn other_target() -> anyhow::Result<Totals> {
    if !has_standard_library(OTHER_TARGET) && !can_add(OTHER_TARGET)? {
        let why = format!("no standard library of {OTHER_TARGET} here: rustup target add {OTHER_TARGET}");
        println!("{why}");
        return Ok(Totals::one_skipped(format!("another architecture: {why}")));
    }
    let arguments = ["check", "--quiet", "--workspace", "--locked", "--target", OTHER_TARGET];
    one(&arguments, "another architecture: cargo check --workspace --target aarch64-unknown-linux-gnu")
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

fn tests() -> anyhow::Result<Totals> {
    counted(&["test", "--workspace", "--locked", "--no-fail-fast", "--", "--show-output"])
}

/// Probes measure release builds only: there, too, timing wrappers must be inlined and loops give the right values.
fn kernel_tests() -> anyhow::Result<Totals> {
    counted(&[
        "test",
        "--release",
        "--package=kernels",
        "--tests",
        "--locked",
        "--no-fail-fast",
        "--",
        "--show-output",
    ])
}

/// Lines of a test program that died which are repeated: enough to name the test it was in.
const LAST_LINES: usize = 40;

/// Runs `cargo test` with these arguments, shows what failed, and counts its results.
fn counted(arguments: &[&str]) -> anyhow::Result<Totals> {
    let mut reader = Reader::default();
    let mut last = VecDeque::with_capacity(LAST_LINES);
    let passed = cargo::follow(&mut cargo::cargo(arguments), |line| {
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
    let mut command = cargo::cargo(&["doc", "--quiet", "--workspace", "--no-deps", "--locked"]);
    let passed = cargo::succeeds(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Totals::one(passed, "documentation: cargo doc --workspace --no-deps"))
}

fn cargo_deny() -> anyhow::Result<Totals> {
    if cargo::find("cargo-deny").is_none() {
        println!("cargo-deny is not installed (cargo install cargo-deny); the licence check above has run");
        return Ok(Totals::one_skipped("cargo deny: not installed"));
    }
    one(&["deny", "check"], "cargo deny check")
}

fn release_build() -> anyhow::Result<Totals> {
    one(
        &["build", "--quiet", "--release", "--locked", "--package", "cli"],
        "release build: cargo build --release",
    )
}

fn one(arguments: &[&str], name: &str) -> anyhow::Result<Totals> {
    Ok(Totals::one(cargo::succeeds(&mut cargo::cargo(arguments))?, name))
}
