//! Is what was made static and small, and does it install and run where nothing else is?

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::Context;
use object::Endianness;
use object::elf::{PT_INTERP, ProgramHeader64};
use object::read::elf::{ElfFile64, ProgramHeader};
use serde_json::Value;

use super::build::copy;
use super::bundle::sha256;
use super::{Release, make_folder, verdict};
use crate::cargo;
use crate::totals::Totals;

/// The program's largest size, with the chart script inside.
const LARGEST_BYTES: u64 = 14_000_000;
/// Exit codes with which `machine --json` may end where there is nothing to read: done, or could not measure.
const EMPTY_ROOT_CODES: &[i32] = &[0, 2, 3];
/// Where everything but the tarball puts the program.
const INSTALLED: &str = "/usr/bin/sidestep";
/// Where the emulator of another architecture stands in an empty root.
const EMULATOR: &str = "/emulator";

/// A static program names no interpreter: no PT_INTERP among its program headers (System V gABI, chapter 5).
pub(super) fn is_static(program: &Path) -> anyhow::Result<Totals> {
    let bytes = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let file = ElfFile64::<Endianness>::parse(&*bytes).context("the program is no 64-bit ELF file")?;
    let is_named = |header: &ProgramHeader64<Endianness>| header.p_type(file.endian()) == PT_INTERP;
    let holds = !file.elf_program_headers().iter().any(is_named);
    Ok(verdict(holds, "the program names no dynamic loader"))
}

pub(super) fn is_small(program: &Path) -> anyhow::Result<Totals> {
    let bytes = fs::metadata(program).context("cannot measure the program")?.len();
    Ok(verdict(bytes <= LARGEST_BYTES, &format!("the program has {bytes} bytes, at most {LARGEST_BYTES}")))
}

/// How one form is installed into an empty root; `None` where the tool for it is not here.
type Install = fn(&Release, &Path) -> anyhow::Result<Option<&'static str>>;

const FORMS: [(&str, Install); 4] =
    [("tarball", tarball), ("Debian package", debian), ("RPM", rpm), ("OCI image", image)];

/// Installs every form into an empty root of its own and runs the program there.
pub(super) fn installs(release: &Release) -> anyhow::Result<Totals> {
    let mut totals = Totals::default();
    for (name, install) in FORMS {
        let root = tempfile::tempdir().context("cannot make an empty root")?;
        let Some(program) = install(release, root.path())? else {
            totals.add(skipped(&format!("{name}: not made, or no tool here that installs it")));
            continue;
        };
        totals.add(runs(release, name, root.path(), program)?);
    }
    Ok(totals)
}

fn skipped(line: &str) -> Totals {
    println!("SKIPPED {line}");
    Totals::one_skipped(format!("dist: {line}"))
}

fn runs(release: &Release, name: &str, root: &Path, program: &str) -> anyhow::Result<Totals> {
    // The emulator is static: it runs in the empty root too.
    let emulator = release.toolchain().emulator();
    if let Some(emulator) = &emulator {
        copy(emulator, &root.join(EMULATOR.trim_start_matches('/')))?;
    }
    let words: Vec<&str> = emulator.iter().map(|_| EMULATOR).chain([program]).collect();
    let Some(help) = in_root(root, &words, &["--help"])? else {
        return Ok(skipped(&format!("{name}: neither root nor user namespaces here")));
    };
    let mut totals = verdict(
        help.status.success() && !help.stdout.is_empty(),
        &format!("{name}: --help works in an empty root"),
    );
    let machine =
        in_root(root, &words, &["machine", "--json"])?.context("the empty root worked a moment ago")?;
    let ended = machine.status.code().is_some_and(|code| EMPTY_ROOT_CODES.contains(&code));
    let is_json = serde_json::from_slice::<Value>(&machine.stdout).is_ok();
    let words = String::from_utf8_lossy(&machine.stderr);
    let fine = ended && if machine.status.success() { is_json } else { words.trim().lines().count() == 1 };
    totals.add(verdict(fine, &format!("{name}: machine --json answers in an empty root {}", words.trim())));
    Ok(totals)
}

fn tarball(release: &Release, root: &Path) -> anyhow::Result<Option<&'static str>> {
    unpack(&release.file("tar.gz"), root, &["--strip-components=1"])?;
    Ok(Some("/bin/sidestep"))
}

fn debian(release: &Release, root: &Path) -> anyhow::Result<Option<&'static str>> {
    if !release.file("deb").exists() || cargo::find("dpkg").is_none() || !cargo::is_root() {
        return Ok(None);
    }
    let database = root.join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        make_folder(&database.join(folder))?;
    }
    super::write(&database.join("status"), "")?;
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display()))
        .arg("--force-not-root")
        .args(release.toolchain().emulator().map(|_| "--force-architecture"))
        .arg("--install")
        .arg(release.file("deb"));
    cargo::output(&mut dpkg)?;
    Ok(Some(INSTALLED))
}

fn rpm(release: &Release, root: &Path) -> anyhow::Result<Option<&'static str>> {
    if !release.file("rpm").exists() || cargo::find("rpm").is_none() || !cargo::is_root() {
        return Ok(None);
    }
    let mut rpm = Command::new("rpm");
    rpm.arg("--root")
        .arg(root)
        .args(release.toolchain().emulator().map(|_| "--ignorearch"))
        .args(["--nodeps", "--install"])
        .arg(release.file("rpm"));
    cargo::output(&mut rpm)?;
    Ok(Some(INSTALLED))
}

/// What a container engine does with an image: checks every digest, unpacks the layers in order, runs the entry point.
fn image(release: &Release, root: &Path) -> anyhow::Result<Option<&'static str>> {
    let layout = tempfile::tempdir().context("cannot make a folder for the image")?;
    unpack(&release.file("oci.tar"), layout.path(), &[])?;
    let blob = |descriptor: &Value| -> anyhow::Result<std::path::PathBuf> {
        let digest = descriptor["digest"]
            .as_str()
            .and_then(|text| text.strip_prefix("sha256:"))
            .context("a part without digest")?;
        let file = layout.path().join("blobs/sha256").join(digest);
        anyhow::ensure!(sha256(&file)? == digest, "a part of the image is not what its digest says");
        Ok(file)
    };
    let read = |file: &Path| -> anyhow::Result<Value> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).context("a document of the image is no JSON")
    };
    let index = read(&layout.path().join("index.json"))?;
    let manifest = read(&blob(&index["manifests"][0])?)?;
    let config = read(&blob(&manifest["config"])?)?;
    for layer in manifest["layers"].as_array().into_iter().flatten() {
        unpack(&blob(layer)?, root, &["--gzip"])?;
    }
    anyhow::ensure!(config["config"]["Entrypoint"][0] == INSTALLED, "the image runs something else");
    Ok(Some(INSTALLED))
}

fn unpack(archive: &Path, root: &Path, more: &[&str]) -> anyhow::Result<()> {
    cargo::output(Command::new("tar").args(more).arg("-xf").arg(archive).arg("-C").arg(root)).map(drop)
}

/// Runs the program with `folder` as its root; `None` where we may not change roots.
fn in_root(folder: &Path, program: &[&str], arguments: &[&str]) -> anyhow::Result<Option<Output>> {
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
    command.arg(folder).args(program).args(arguments);
    command.output().map(Some).context("cannot change the root")
}
