//! The Debian package and the RPM, by cargo-deb and cargo-generate-rpm from the metadata in crates/cli/Cargo.toml.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use crate::cargo;
use crate::tidy::PLATFORM;

/// The packagers and the versions that were tried.
const DEB: (&str, &str) = ("cargo-deb", "3.7.0");
const RPM: (&str, &str) = ("cargo-generate-rpm", "0.21.0");

/// `sidestep-VERSION-x86_64-linux.deb`.
pub(super) fn debian(release: &Release, target: &Path) -> anyhow::Result<()> {
    let mut command = packager(DEB)?;
    command.args(["deb", "--package", "cli", "--no-build", "--no-strip", "--target", PLATFORM, "--output"]);
    finish(command.arg(release.file("deb")), release, target)
}

/// `sidestep-VERSION-x86_64-linux.rpm`.
pub(super) fn rpm(release: &Release, target: &Path) -> anyhow::Result<()> {
    let mut command = packager(RPM)?;
    command.args(["generate-rpm", "--package", "crates/cli", "--target", PLATFORM, "--auto-req", "disabled"]);
    command.args(["--source-date", &release.epoch_s, "--target-dir"]).arg(target);
    finish(command.arg("--output").arg(release.file("rpm")), release, target)
}

fn finish(command: &mut Command, release: &Release, target: &Path) -> anyhow::Result<()> {
    command
        .env("SOURCE_DATE_EPOCH", &release.epoch_s)
        .env("CARGO_TARGET_DIR", target)
        .current_dir(cargo::root());
    cargo::output(command).map(drop)
}

/// A packager that is there, or was put below the target folder.
fn packager((name, version): (&str, &str)) -> anyhow::Result<Command> {
    let own = cargo::target().join("packagers");
    let found: Option<PathBuf> =
        cargo::find(name).or_else(|| Some(own.join("bin").join(name)).filter(|file| file.is_file()));
    if let Some(found) = found {
        return Ok(Command::new(found));
    }
    println!("installing {name} {version} below {}", own.display());
    let mut install = cargo::cargo(&["install", "--quiet", "--locked", "--version", version, name, "--root"]);
    let fine = cargo::succeeds(install.arg(&own))?;
    anyhow::ensure!(fine, "{name} cannot be installed; see above");
    Ok(Command::new(own.join("bin").join(name)))
}
