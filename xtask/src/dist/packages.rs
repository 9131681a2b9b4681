//! The Debian package and the RPM, by cargo-deb and cargo-generate-rpm from the metadata in crates/cli/Cargo.toml.

use std::path::Path;
use std::process::Command;

use super::Release;
use crate::cargo;

/// A packager, the version that was tried, what its files are called, and its words.
type Packager = (&'static str, &'static str, &'static str, &'static str);

const DEB: Packager = ("cargo-deb", "3.7.0", "deb", "deb --package cli --no-build --no-strip");
const RPM: Packager =
    ("cargo-generate-rpm", "0.21.0", "rpm", "generate-rpm --package crates/cli --auto-req disabled");

/// `sidestep-VERSION-ARCHITECTURE-linux.deb` and `.rpm`.
pub(super) fn all(release: &Release, target: &Path) -> anyhow::Result<()> {
    for (name, version, extension, words) in [DEB, RPM] {
        let mut command = packager(name, version)?;
        let triple = cargo::triple(&release.architecture);
        command.args(words.split(' ')).args(["--target", &triple]).current_dir(cargo::root());
        if name == RPM.0 {
            command.args(["--source-date", &release.epoch_s, "--target-dir"]).arg(target);
        }
        command.env("SOURCE_DATE_EPOCH", &release.epoch_s).env("CARGO_TARGET_DIR", target);
        cargo::output(command.arg("--output").arg(release.file(extension)))?;
    }
    Ok(())
}

/// A packager that is there, or was put below the target folder.
fn packager(name: &str, version: &str) -> anyhow::Result<Command> {
    let own = cargo::target().join("packagers");
    let file = own.join("bin").join(name);
    let found = cargo::find(name).or_else(|| file.is_file().then(|| file.clone()));
    if found.is_none() {
        println!("installing {name} {version} below {}", own.display());
        let mut install =
            cargo::cargo(&format!("install --quiet --locked --version {version} {name} --root"));
        let fine = cargo::succeeds(install.arg(&own))?;
        anyhow::ensure!(fine, "{name} cannot be installed; see above");
    }
    Ok(Command::new(found.unwrap_or(file)))
}
