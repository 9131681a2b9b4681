//! `cargo xtask arm64`: the program for arm64, its transcripts under user-mode emulation, and the machines of the lab that are arm64.

use std::path::PathBuf;

use crate::totals::Totals;
use crate::{cargo, golden, lab};

/// The architecture as Rust and QEMU call it.
const ARCHITECTURE: &str = "aarch64";
/// The linker of Debian's package gcc-aarch64-linux-gnu.
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// The user-mode emulator of Debian's package qemu-user-static.
const EMULATOR: &str = "qemu-aarch64-static";

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
    for program in [LINKER, EMULATOR] {
        if cargo::find(program).is_none() {
            let why = format!(
                "arm64: {program} is absent (apt-get install gcc-aarch64-linux-gnu qemu-user-static)"
            );
            println!("{why}");
            return Ok(Totals::one_skipped(why));
        }
    }
    let mut build = cargo::cargo(&format!(
        "build --release --locked --package cli --target {}",
        cargo::triple(ARCHITECTURE)
    ));
    build.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    build.env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        "-Ctarget-feature=+crt-static -Cstrip=symbols",
    );
    anyhow::ensure!(cargo::succeeds(&mut build)?, "the program does not build for arm64; see above");
    let mut totals = Totals::one_passed();
    totals.add(golden::run_as(&[PathBuf::from(EMULATOR), cargo::sidestep_for(ARCHITECTURE)])?);
    if !arguments.no_guests {
        totals.add(lab::of_architecture(ARCHITECTURE)?);
    }
    Ok(totals)
}
