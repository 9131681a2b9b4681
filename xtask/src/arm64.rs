//! `cargo xtask arm64`: the program for arm64, its transcripts under user-mode emulation, and the machines of the lab that are arm64.

use crate::cargo::{self, Toolchain};
use crate::totals::Totals;
use crate::{golden, lab};

/// The architecture as Rust and QEMU call it.
const ARCHITECTURE: &str = "aarch64";
/// Transcripts that differ there, each with the reason.
const DIFFERING: &[(&str, &str)] = &[
    (
        "ab-no-such-program",
        "the emulator forks where a program is spawned, and loses the error of starting it",
    ),
    ("only-nonsense", "arm64 has a probe more: atomics"),
    ("only-typo", "arm64 has a probe more: atomics"),
];

/// The program for arm64, without such a machine
///
/// Builds it for arm64 (static, profile release), holds the transcripts of tests/cli against it under qemu-aarch64-static, and boots the
/// arm64 machines of lab/machines. Needs gcc-aarch64-linux-gnu, qemu-user-static and qemu-system-arm, and is skipped by name without.
/// Emulation shows that code works, never what it costs.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Leave the machines of the lab out
    #[arg(long)]
    no_guests: bool,
}

/// `cargo xtask arm64`.
///
/// # Errors
/// What cannot be started.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let mut totals = check()?;
    if !arguments.no_guests && totals.failed + totals.skipped == 0 {
        totals.add(lab::of_architecture(ARCHITECTURE)?);
    }
    Ok(totals)
}

/// The program and its transcripts; without a linker or an emulator, that all compiles, which needs a standard library alone.
///
/// # Errors
/// What cannot be started.
pub fn check() -> anyhow::Result<Totals> {
    let toolchain = Toolchain { architecture: ARCHITECTURE };
    if let Some(why) = toolchain.lacks() {
        let mut check = cargo::cargo("check --quiet -p cli -p sidestep-clock --locked --target");
        let passed = cargo::succeeds(check.arg(cargo::triple(ARCHITECTURE)))?;
        println!("arm64: checked alone: {why}");
        let mut totals = Totals::one(passed, "arm64: cargo check; rustup target add brings its library");
        totals.add(Totals::one_skipped(format!("arm64: transcripts: {why}")));
        return Ok(totals);
    }
    let mut build = toolchain.cargo("build --release --locked --package cli");
    build.env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        "-Ctarget-feature=+crt-static -Cstrip=symbols",
    );
    anyhow::ensure!(cargo::succeeds(&mut build)?, "the program does not build for arm64; see above");
    let program = cargo::sidestep_for(ARCHITECTURE);
    golden::run_as(&|| toolchain.start(&program), DIFFERING)
}
