//! The program, its libraries and what comes with them, as they lie below a prefix.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{Release, make_folder, write};
use crate::cargo::{self, Toolchain};

/// The profiles of cargo for what is published, and for what tests and developers use: alike but for what costs time to build.
const PUBLISHED: &str = "dist";
pub(super) const TESTED: &str = "release";
/// Packages whose libraries ship, and the files of theirs.
const LIBRARIES: [(&str, &[&str]); 2] = [
    ("sidestep-clock-c", &["libsidestep_clock.so", "libsidestep_clock.a"]),
    ("sidestep-clock-preload", &["libsidestep_clock_preload.so"]),
];
/// Shells whose completions ship, and where each looks for them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/sidestep"),
    ("zsh", "share/zsh/site-functions/_sidestep"),
    ("fish", "share/fish/vendor_completions.d/sidestep.fish"),
];
/// Files of the project that ship, and where.
const FILES: [(&str, &str); 5] = [
    ("README.md", "share/doc/sidestep/README.md"),
    ("LICENSE", "share/doc/sidestep/LICENSE"),
    ("LICENSE-MIT", "share/doc/sidestep/LICENSE-MIT"),
    ("LICENSE-APACHE", "share/doc/sidestep/LICENSE-APACHE"),
    ("crates/clock-c/include/sidestep_clock.h", "include/sidestep_clock.h"),
];

/// Builds and lays out everything.
pub(super) fn fill(release: &Release, target: &Path) -> anyhow::Result<()> {
    let toolchain = release.toolchain();
    copy(&program(&toolchain, target, PUBLISHED)?, &release.program())?;
    let built = target.join(cargo::triple(toolchain.architecture)).join(PUBLISHED);
    for (package, files) in LIBRARIES {
        build(&toolchain, target, PUBLISHED, package, &[])?;
        for file in files {
            copy(&built.join(file), &release.stage.join("lib").join(file))?;
        }
    }
    for (from, to) in FILES {
        copy(&cargo::root().join(from), &release.stage.join(to))?;
    }
    let manual = release.stage.join("share/man/man1");
    make_folder(&manual)?;
    cargo::output(toolchain.start(&release.program()).arg("man").arg(&manual))?;
    for (shell, place) in COMPLETIONS {
        let text = cargo::output(toolchain.start(&release.program()).args(["completions", shell]))?;
        let file = release.stage.join(place);
        make_folder(file.parent().context("a completion lies in a folder")?)?;
        write(&file, text)?;
    }
    Ok(())
}

/// Builds the program with a profile of cargo; where it is.
pub(super) fn program(toolchain: &Toolchain<'_>, target: &Path, profile: &str) -> anyhow::Result<PathBuf> {
    // No target-cpu: kernels choose their instructions at run time, so the program starts on the oldest CPU of its architecture. Nobody
    // loads it at another address, so it needs no table of relocations.
    build(toolchain, target, profile, "cli", &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"])?;
    Ok(target.join(cargo::triple(toolchain.architecture)).join(profile).join("sidestep"))
}

/// Builds one package. No path of this machine gets into it.
fn build(
    toolchain: &Toolchain<'_>,
    target: &Path,
    profile: &str,
    package: &str,
    flags: &[&str],
) -> anyhow::Result<()> {
    let mut all: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    all.push("-Cstrip=symbols".to_owned());
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")),
        |home| Some(home.into()),
    );
    let known = [
        Some((cargo::root(), "/sidestep")),
        home.map(|home| (home, "/cargo")),
        Some((target.into(), "/target")),
    ];
    for (path, name) in known.into_iter().flatten() {
        all.push(format!("--remap-path-prefix={}={name}", path.display()));
    }
    let mut command = toolchain.cargo(&format!("build --profile {profile} --locked --package {package}"));
    command.env("CARGO_ENCODED_RUSTFLAGS", all.join("\u{1f}")).env("CARGO_TARGET_DIR", target);
    anyhow::ensure!(cargo::succeeds(&mut command)?, "{package} does not build; see above");
    Ok(())
}

pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    make_folder(to.parent().context("a file lies in a folder")?)?;
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
