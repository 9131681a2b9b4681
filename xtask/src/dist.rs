//! `cargo xtask dist`: one static binary for any x86-64 Linux, with its man pages and completions.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::Context;

use crate::cargo;
use crate::flags::Flags;
use crate::tidy::PLATFORM;
use crate::totals::Totals;

/// The rest of `cargo xtask dist --help`.
pub const HELP: &str = "Builds target/dist: sidestep (static, stripped, no -march), the library that samples programs where the kernel forbids others to,
man pages, completions.
Checks that it is static, is no larger than 12 MB, and runs in an empty chroot
(as root, or in a user namespace; skipped by name where neither is possible).
";

/// The binary's largest size, with the chart script inside.
const LARGEST_BYTES: u64 = 12_000_000;
/// Shells whose completions ship.
const SHELLS: &[&str] = &["bash", "zsh", "fish"];
/// Exit codes with which `machine --json` may end where there is nothing to read: done, or could not measure.
const EMPTY_ROOT_CODES: &[i32] = &[0, 2, 3];

/// `cargo xtask dist`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    Flags::parse(arguments, &[], &[])?;
    let folder = cargo::target().join("dist");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    let binary = build(&folder)?;
    add_library(&folder)?;
    let mut totals = Totals::default();
    totals.add(is_static(&binary)?);
    totals.add(is_small(&binary)?);
    totals.add(runs_in_an_empty_root(&binary)?);
    write_manual(&binary, &folder)?;
    write_completions(&binary, &folder)?;
    println!("{}", folder.display());
    print!("{}", totals.closing());
    Ok(totals)
}

fn build(folder: &Path) -> anyhow::Result<PathBuf> {
    // No target-cpu: kernels choose their instructions at run time, so the binary starts on the oldest x86-64.
    let mut command =
        cargo::cargo(&["build", "--release", "--locked", "--package", "cli", "--target", PLATFORM]);
    command.env("RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols");
    anyhow::ensure!(cargo::succeeds(&mut command)?, "the static build failed; see above");
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let binary = folder.join("sidestep");
    let built = cargo::target().join(PLATFORM).join("release/sidestep");
    std::fs::copy(&built, &binary).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(binary)
}

/// The sampler library, which sidestep looks for beside itself. It is loaded into programs with a C library of their own.
fn add_library(folder: &Path) -> anyhow::Result<()> {
    const NAME: &str = "libsidestep_sampler_preload.so";
    let package =
        ["build", "--release", "--locked", "--package", "sidestep-sampler-preload", "--target", PLATFORM];
    let mut command = cargo::cargo(&package);
    command.env("RUSTFLAGS", "-C strip=symbols");
    anyhow::ensure!(cargo::succeeds(&mut command)?, "the sampler library does not build; see above");
    let built = cargo::target().join(PLATFORM).join("release").join(NAME);
    std::fs::copy(&built, folder.join(NAME)).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(())
}

/// A static program names no interpreter: no PT_INTERP among its program headers (System V gABI, chapter 5).
fn is_static(binary: &Path) -> anyhow::Result<Totals> {
    let bytes = std::fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    let interpreters = program_header_kinds(&bytes)?.into_iter().filter(|kind| *kind == PT_INTERP).count();
    Ok(verdict(interpreters == 0, "the binary names no dynamic loader"))
}

/// "Program interpreter" segment. Source: System V gABI, chapter 5, "Program Header".
const PT_INTERP: u32 = 3;

/// The kind of each program header of a 64-bit little-endian ELF file.
fn program_header_kinds(bytes: &[u8]) -> anyhow::Result<Vec<u32>> {
    // Offsets in Elf64_Ehdr: e_phoff 32, e_phentsize 54, e_phnum 56. Source: System V gABI, chapter 4.
    let number = |at: usize, width: usize| -> anyhow::Result<usize> {
        let part = bytes.get(at..at + width).context("the binary is cut short")?;
        Ok(part.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
    };
    anyhow::ensure!(bytes.starts_with(b"\x7fELF\x02\x01"), "the binary is no 64-bit little-endian ELF file");
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    (0..count).map(|index| Ok(u32::try_from(number(start + index * size, 4)?)?)).collect()
}

fn is_small(binary: &Path) -> anyhow::Result<Totals> {
    let bytes = std::fs::metadata(binary).context("cannot measure the binary")?.len();
    Ok(verdict(bytes <= LARGEST_BYTES, &format!("the binary has {bytes} bytes, at most {LARGEST_BYTES}")))
}

fn runs_in_an_empty_root(binary: &Path) -> anyhow::Result<Totals> {
    let folder = tempfile::tempdir().context("cannot make an empty root")?;
    std::fs::copy(binary, folder.path().join("sidestep")).context("cannot copy the binary")?;
    let Some(mut totals) = in_root(folder.path(), &["--help"])?.map(|done| {
        let says = done.status.success() && !done.stdout.is_empty();
        verdict(says, "--help works in an empty root")
    }) else {
        let line = "runs in an empty root: neither root nor user namespaces here";
        println!("SKIPPED {line}");
        return Ok(Totals::one_skipped(line));
    };
    let machine =
        in_root(folder.path(), &["machine", "--json"])?.context("the empty root worked a moment ago")?;
    let ended = machine.status.code().is_some_and(|code| EMPTY_ROOT_CODES.contains(&code));
    let is_json = serde_json::from_slice::<serde_json::Value>(&machine.stdout).is_ok();
    let explains = String::from_utf8_lossy(&machine.stderr).trim().lines().count() == 1;
    let fine = ended && if machine.status.success() { is_json } else { explains };
    let words = String::from_utf8_lossy(&machine.stderr);
    totals.add(verdict(fine, &format!("machine --json answers in an empty root {}", words.trim())));
    Ok(totals)
}

/// Runs the binary with `folder` as its root; `None` where we may not change roots.
fn in_root(folder: &Path, arguments: &[&str]) -> anyhow::Result<Option<Output>> {
    let mut command = if cargo::is_root() {
        Command::new("chroot")
    } else {
        let probe = Command::new("unshare").args(["-r", "true"]).output();
        if !probe.is_ok_and(|done| done.status.success()) {
            return Ok(None);
        }
        let mut command = Command::new("unshare");
        command.args(["-r", "chroot"]);
        command
    };
    command.arg(folder).arg("/sidestep").args(arguments);
    command.output().map(Some).context("cannot change the root")
}

fn write_manual(binary: &Path, folder: &Path) -> anyhow::Result<()> {
    let manual = folder.join("man");
    std::fs::create_dir_all(&manual).with_context(|| format!("cannot make {}", manual.display()))?;
    cargo::output(Command::new(binary).arg("man").arg(&manual)).map(drop)
}

fn write_completions(binary: &Path, folder: &Path) -> anyhow::Result<()> {
    let completions = folder.join("completions");
    std::fs::create_dir_all(&completions)
        .with_context(|| format!("cannot make {}", completions.display()))?;
    for shell in SHELLS {
        let text = cargo::output(Command::new(binary).args(["completions", shell]))?;
        let file = completions.join(format!("sidestep.{shell}"));
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn verdict(holds: bool, line: &str) -> Totals {
    println!("{}  {line}", if holds { "ok    " } else { "FAILED" });
    Totals::one(holds, format!("dist: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_program_headers_are_read() {
        let mut bytes = vec![0; 64 + 2 * 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56]) = (64, 56, 2);
        (bytes[64], bytes[64 + 56]) = (1, 3);
        assert_eq!(program_header_kinds(&bytes).unwrap(), [1, PT_INTERP]);
        assert!(program_header_kinds(&bytes[..100]).is_err());
        assert!(program_header_kinds(b"#!/bin/sh").is_err());
    }
}
