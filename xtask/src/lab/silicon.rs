//! The emulator of tiers 2 and 3: a QEMU with the plugin that gives each CPU counters, registers and modelled cycles.
//!
//! The plugin needs QEMU 11.1. Where this host has an older one, Debian's is unpacked below the cache with every library that it
//! needs, and started by its own dynamic loader: nothing of the host is touched, and no privilege is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::definition::Machine;
use super::emulator::{Emulator, option_text, version_of};
use super::packages::Suite;
use crate::cargo;

/// Sources of the plugin, from the root. They have a licence of their own and are linked to nothing of ours.
const FOLDER: &str = "lab/silicon";
/// The file that includes all others.
const UNIT: &str = "silicon.c";
/// The first QEMU with version 7 of the plugin interface, by which a plugin answers instructions and moves past them.
const QEMU_MIN: (u32, u32) = (11, 1);
/// Debian's releases that have one, and its libraries.
const SUITES: &[&str] = &["trixie-backports", "trixie"];
const PACKAGE: &str = "qemu-system-x86";
const PROGRAM: &str = "qemu-system-x86_64";
/// Where Debian's packages put libraries and firmware.
const LIBRARIES: &[&str] = &["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
const LOADERS: &[&str] = &["usr/lib64/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2"];
const FIRMWARE: &[&str] = &["usr/share/qemu", "usr/share/seabios"];

/// Builds the plugin, makes QEMU's folder below `cache`, and writes the configuration of `machine`.
///
/// # Errors
/// What is missing, in one line.
pub fn prepare(machine: &Machine, cache: &Path) -> anyhow::Result<Emulator> {
    let lines = machine.silicon.as_ref().map_or("", |silicon| silicon.lines.as_str());
    let mut qemu = of_host().map_or_else(|| unpacked(cache), Ok)?;
    let plugin = plugin(cache)?;
    let configuration = cache.join("silicon").join(format!("{}.conf", machine.name));
    fs::write(&configuration, lines).with_context(|| format!("cannot write {}", configuration.display()))?;
    qemu.arguments.extend(["-plugin".to_owned(), option(&plugin, &configuration)]);
    Ok(qemu)
}

/// The plugin as QEMU's option names it.
fn option(plugin: &Path, configuration: &Path) -> String {
    let text = |path: &Path| option_text(&path.display().to_string());
    format!("file={},conf={}", text(plugin), text(configuration))
}

/// This host's own QEMU, if it is new enough.
fn of_host() -> Option<Emulator> {
    let emulator = Emulator { program: cargo::find(PROGRAM)?, arguments: Vec::new() };
    version_of(&emulator).is_ok_and(|version| version >= QEMU_MIN).then_some(emulator)
}

/// Compiles the plugin unless it is newer than all its sources.
fn plugin(cache: &Path) -> anyhow::Result<PathBuf> {
    let folder = cache.join("silicon");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let plugin = folder.join("silicon.so");
    let sources = sources()?;
    let changed = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    let newest = sources.iter().filter_map(changed).max();
    if changed(&plugin).is_some_and(|built| Some(built) > newest) {
        return Ok(plugin);
    }
    let compiler =
        cargo::find("cc").context("cannot compile lab/silicon: cc is absent (apt-get install gcc)")?;
    let mut command = Command::new(compiler);
    command.args([
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fPIC",
        "-fvisibility=hidden",
        "-shared",
        "-pthread",
        "-o",
    ]);
    command.arg(&plugin).arg(cargo::root().join(FOLDER).join(UNIT));
    let done = command.output().context("cannot start cc")?;
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    let first = words.lines().find(|line| line.contains("error")).or_else(|| words.lines().next());
    anyhow::ensure!(done.status.success(), "cannot compile {FOLDER}: {}", first.unwrap_or("cc says nothing"));
    Ok(plugin)
}

/// C files and headers.
fn sources() -> anyhow::Result<Vec<PathBuf>> {
    let folder = cargo::root().join(FOLDER);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let is_source = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "c" || ending == "h");
    Ok(entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_source).collect())
}

/// Debian's QEMU below the cache, fetched once.
fn unpacked(cache: &Path) -> anyhow::Result<Emulator> {
    let tree = cache.join("qemu").join("tree");
    let stamp = cache.join("qemu").join("complete");
    if !stamp.exists() {
        println!("fetching {PACKAGE} of {} and its libraries", SUITES[0]);
        let _ = fs::remove_dir_all(&tree);
        let (major, minor) = QEMU_MIN;
        fetch(cache, &tree)
            .with_context(|| format!("cannot have QEMU {major}.{minor}, which tiers 2 and 3 need"))?;
    }
    let qemu = started_by_loader(&tree)?;
    if !stamp.exists() {
        let (major, minor) = version_of(&qemu)?;
        anyhow::ensure!((major, minor) >= QEMU_MIN, "{} has QEMU {major}.{minor} only", SUITES[0]);
        fs::write(&stamp, format!("{major}.{minor}"))?;
    }
    Ok(qemu)
}

/// Lets apt resolve the package against a host that has nothing, and unpacks all that it fetches.
fn fetch(cache: &Path, tree: &Path) -> anyhow::Result<()> {
    let suite = Suite::open(cache, SUITES, "amd64")?;
    let mut install = suite.apt("apt-get");
    install.args([
        "install",
        "-qq",
        "-y",
        "--download-only",
        "--no-install-recommends",
        "-t",
        SUITES[0],
        PACKAGE,
    ]);
    cargo::output(&mut install)
        .with_context(|| format!("cannot fetch {PACKAGE} of {}", SUITES.join(", ")))?;
    suite.extract("cache/archives", tree)
}

/// QEMU in `tree`, by the loader, the libraries and the firmware that lie there.
fn started_by_loader(tree: &Path) -> anyhow::Result<Emulator> {
    let loader = LOADERS.iter().map(|path| tree.join(path)).find(|path| path.is_file());
    let program = loader.with_context(|| format!("{} has no dynamic loader", tree.display()))?;
    let libraries: Vec<String> = LIBRARIES.iter().map(|path| tree.join(path).display().to_string()).collect();
    let own = tree.join("usr/bin").join(PROGRAM).display().to_string();
    let mut arguments = vec!["--library-path".to_owned(), libraries.join(":"), own];
    for folder in FIRMWARE {
        arguments.extend(["-L".to_owned(), tree.join(folder).display().to_string()]);
    }
    Ok(Emulator { program, arguments })
}

#[cfg(test)]
mod tests {
    use super::super::emulator::version;
    use super::*;

    #[test]
    fn a_qemu_without_the_interface_is_known_by_its_version() {
        for (printed, is_enough) in [
            ("QEMU emulator version 11.1.3 (Debian 1:11.1.3+ds-1~bpo13+1)", true),
            ("QEMU emulator version 12.0.0", true),
            ("QEMU emulator version 11.0-rc1", false),
            ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)", false),
            ("nonsense", false),
        ] {
            assert_eq!(version(printed).is_some_and(|found| found >= QEMU_MIN), is_enough, "{printed}");
        }
    }

    #[test]
    fn a_comma_in_a_path_does_not_end_the_option() {
        let option = option(Path::new("/a,b/silicon.so"), Path::new("/c.conf"));
        assert_eq!(option, "file=/a,,b/silicon.so,conf=/c.conf");
    }

    #[test]
    fn qemu_of_a_tree_uses_nothing_of_the_host() {
        let tree = tempfile::tempdir().expect("a temporary folder");
        let error = started_by_loader(tree.path()).expect_err("it is empty");
        assert!(error.to_string().ends_with("has no dynamic loader"), "{error}");
        let loader = tree.path().join(LOADERS[0]);
        fs::create_dir_all(loader.parent().expect("it has a folder")).expect("a folder");
        fs::write(&loader, "").expect("a file");
        let qemu = started_by_loader(tree.path()).expect("it is there");
        assert_eq!(qemu.program, loader);
        let paths = qemu.arguments.iter().filter(|word| word.contains('/')).flat_map(|word| word.split(':'));
        assert!(
            paths.clone().count() > 3
                && paths.clone().all(|path| path.starts_with(&*tree.path().to_string_lossy()))
        );
    }
}
