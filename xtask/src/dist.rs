//! `cargo xtask dist`: what people install, made once, installed and run in an empty root: tarball, .deb, .rpm, OCI image, SBOM, sums.

mod build;
mod bundle;
mod checks;
mod image;
mod packages;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo::{self, Toolchain};
use crate::totals::Totals;

/// What people install, made and tried
///
/// Makes target/dist/ARCHITECTURE: a tarball, a Debian package, an RPM, an OCI image (an archive for podman and docker load), a CycloneDX SBOM and
/// SHA256SUMS. In each: sidestep (static, no -march), the libraries of the clock, man pages, completions,
/// licences.
///
/// Checks that the program is static and no larger than 14 MB, and installs and runs each in an empty root (as root, or in a user
/// namespace; skipped by name where neither is possible, or where rpm is not installed). cargo-deb and cargo-generate-rpm are installed
/// below target when they are not there.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Build a second time from nothing: the same bytes?
    #[arg(long)]
    twice: bool,
    /// Only build the program, and put it where the tests look for it: target/release/sidestep
    #[arg(long, conflicts_with = "twice")]
    program_alone: bool,
    /// For this architecture: x86_64 or aarch64; for another than this machine's it needs gcc and an emulator for it
    #[arg(long, default_value = std::env::consts::ARCH, value_parser = ["x86_64", "aarch64"], conflicts_with = "program_alone")]
    architecture: String,
}

/// What is made, and the facts it carries.
struct Release {
    /// As Rust calls it.
    architecture: String,
    version: String,
    /// Of the last commit, in seconds since 1970: every file bears it, so that two builds are the same bytes.
    epoch_s: String,
    /// Everything that is installed, below a prefix such as /usr.
    stage: PathBuf,
    /// What is published.
    folder: PathBuf,
}

/// `cargo xtask dist`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if arguments.program_alone {
        let toolchain = Toolchain { architecture: std::env::consts::ARCH };
        let program = build::program(&toolchain, &cargo::target(), build::TESTED)?;
        build::copy(&program, &cargo::sidestep())?;
        return Ok(Totals::one_passed());
    }
    if let Some(why) = (Toolchain { architecture: &arguments.architecture }).lacks() {
        println!("dist: {why}");
        return Ok(Totals::one_skipped(format!("dist for {}: {why}", arguments.architecture)));
    }
    let release = make(&cargo::target(), &arguments.architecture)?;
    let mut totals = checks::is_static(&release.program())?;
    totals.add(checks::is_small(&release.program())?);
    totals.add(checks::installs(&release)?);
    if arguments.twice {
        totals.add(is_the_same_again(&release)?);
    }
    println!("{}", release.folder.display());
    Ok(totals)
}

/// Builds below `target` and packs.
fn make(target: &Path, architecture: &str) -> anyhow::Result<Release> {
    let epoch_s =
        cargo::output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(cargo::root()))
            .map_or_else(|_| "0".to_owned(), |text| text.trim().to_owned());
    let release = Release {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        epoch_s,
        // The packagers look for what they pack below `release`.
        stage: target.join(cargo::triple(architecture)).join("release/dist"),
        folder: target.join("dist").join(architecture),
        architecture: architecture.to_owned(),
    };
    for folder in [&release.stage, &release.folder] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        make_folder(folder)?;
    }
    build::fill(&release, target)?;
    bundle::tarball(&release)?;
    packages::all(&release, target)?;
    image::write(&release)?;
    sbom::write(&release)?;
    bundle::sums(&release)?;
    Ok(release)
}

impl Release {
    fn program(&self) -> PathBuf {
        self.stage.join("bin/sidestep")
    }

    fn toolchain(&self) -> Toolchain<'_> {
        Toolchain { architecture: &self.architecture }
    }

    /// `sidestep-0.1.0-x86_64-linux`.
    fn name(&self) -> String {
        format!("sidestep-{}-{}-linux", self.version, self.architecture)
    }

    /// `sidestep-0.1.0-x86_64-linux.tar.gz` of `tar.gz`.
    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name()))
    }
}

fn is_the_same_again(first: &Release) -> anyhow::Result<Totals> {
    let other = tempfile::tempdir_in(cargo::target()).context("cannot make a folder for the second build")?;
    let second = make(other.path(), &first.architecture)?;
    let sums = [first, &second].map(|release| fs::read_to_string(release.folder.join(bundle::SUMS)));
    let [first, second] = sums.map(|text| text.context("cannot read the sums"));
    let (first, second) = (first?, second?);
    let differing: Vec<&str> = first.lines().filter(|line| !second.contains(line)).collect();
    Ok(verdict(differing.is_empty(), &format!("two builds have the same bytes; differing: {differing:?}")))
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn verdict(holds: bool, line: &str) -> Totals {
    println!("{}  {line}", if holds { "ok    " } else { "FAILED" });
    Totals::one(holds, format!("dist: {line}"))
}
