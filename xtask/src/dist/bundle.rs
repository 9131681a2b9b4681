//! The tarball, and the sums over everything that is published.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::{Release, write};
use crate::cargo;

/// The file of sums.
pub(super) const SUMS: &str = "SHA256SUMS";

/// `sidestep-VERSION-ARCHITECTURE-linux.tar.gz`: what is installed, below one folder of that name.
pub(super) fn tarball(release: &Release) -> anyhow::Result<()> {
    let top = release.name();
    pack(release, &release.stage, &top, &release.file("tar.gz"))
}

/// Packs a folder under another name, the same bytes whenever and by whomever.
pub(super) fn pack(release: &Release, folder: &Path, name: &str, archive: &Path) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u+rw,go=rX",
        "--format=ustar",
    ])
    .arg(format!("--mtime=@{}", release.epoch_s))
    .arg(format!("--transform=s,^\\.,{name},"));
    if archive.extension().is_some_and(|extension| extension == "gz") {
        tar.args(["-I", "gzip -9n"]);
    }
    cargo::output(tar.arg("-cf").arg(archive).arg("-C").arg(folder).arg(".")).map(drop)
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn sha256(file: &Path) -> anyhow::Result<String> {
    let line = cargo::output(Command::new("sha256sum").arg(file))?;
    Ok(line.split_whitespace().next().context("sha256sum printed nothing")?.to_owned())
}

/// One line per published file, as `sha256sum --check` reads them.
pub(super) fn sums(release: &Release) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    let folder =
        fs::read_dir(&release.folder).with_context(|| format!("cannot list {}", release.folder.display()))?;
    for entry in folder {
        let path = entry.context("cannot list what was made")?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        lines.push((name, sha256(&path)?));
    }
    lines.sort();
    let text: Vec<String> = lines.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    let text = text.concat();
    write(&release.folder.join(SUMS), text)
}
