//! Starting cargo and other programs from the repository's root, and reading what they print.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::Value;

/// The platform the binary is published for.
pub const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The repository's root: the folder above this crate, wherever it was cloned.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one folder below the root").to_owned()
}

/// The folder cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that started us with words parted by blanks, to be run at the root.
pub fn cargo(words: &str) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(words.split_whitespace()).current_dir(root());
    command
}

/// What `cargo metadata` says of every package that a platform uses.
pub fn metadata(platform: &str) -> anyhow::Result<Value> {
    let words = format!("metadata --format-version=1 --locked --filter-platform {platform}");
    serde_json::from_str(&output(&mut cargo(&words))?).context("cargo metadata did not print JSON")
}

/// The release build of the program.
pub fn sidestep() -> PathBuf {
    target().join("release/sidestep")
}

/// The release build of the program for another architecture.
pub fn sidestep_for(architecture: &str) -> PathBuf {
    target().join(triple(architecture)).join("release/sidestep")
}

/// An architecture as Rust's targets are called.
pub fn triple(architecture: &str) -> String {
    format!("{architecture}-unknown-linux-gnu")
}

/// What builds and runs programs of an architecture here.
pub struct Toolchain<'a> {
    /// As Rust calls it.
    pub architecture: &'a str,
}

impl Toolchain<'_> {
    /// The linker and the emulator that Debian packages, where it is not this machine's own architecture.
    fn foreign(&self) -> Option<[String; 2]> {
        let Self { architecture } = self;
        let tools = [format!("{architecture}-linux-gnu-gcc"), format!("qemu-{architecture}-static")];
        (*architecture != std::env::consts::ARCH).then_some(tools)
    }

    /// What is needed and absent, if anything.
    pub fn lacks(&self) -> Option<String> {
        let absent = self.foreign()?.into_iter().find(|tool| find(tool).is_none())?;
        Some(format!("{absent} is absent (apt-get install gcc-aarch64-linux-gnu qemu-user-static)"))
    }

    /// Cargo with these words, building for the architecture.
    pub fn cargo(&self, words: &str) -> Command {
        let triple = triple(self.architecture);
        let mut command = cargo(&format!("{words} --target {triple}"));
        if let Some([linker, _]) = self.foreign() {
            command.env(format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase().replace('-', "_")), linker);
        }
        command
    }

    /// Starts a program, behind the emulator if it needs one.
    pub fn start(&self, program: &Path) -> Command {
        let Some(emulator) = self.emulator() else { return Command::new(program) };
        let mut command = Command::new(emulator);
        command.arg(program);
        command
    }

    /// The emulator, if one is needed and here: a static program.
    pub fn emulator(&self) -> Option<PathBuf> {
        self.foreign().and_then(|[_, emulator]| find(&emulator))
    }
}

/// The compiler that cargo uses.
pub fn rustc() -> std::ffi::OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// This program, to be started again: if cargo has built it anew meanwhile, the new one at its place.
pub fn this_program() -> anyhow::Result<PathBuf> {
    /// What Linux puts behind the name of a file that was removed while it ran (proc(5), /proc/pid/exe).
    const REMOVED: &str = " (deleted)";
    let own = std::env::current_exe().context("cannot find this program")?;
    let renewed = own.to_str().and_then(|name| name.strip_suffix(REMOVED)).map(PathBuf::from);
    Ok(renewed.filter(|_| !own.exists()).unwrap_or(own))
}

/// Runs `command` with its output on ours; `Ok(false)` when it ends with an error.
pub fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    Ok(status.success())
}

/// Runs `command` and hands each line of its standard output to `see` as it comes.
pub fn follow(command: &mut Command, mut see: impl FnMut(&str)) -> anyhow::Result<bool> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", name(command)))?;
    let output = child.stdout.take().expect("standard output was asked to be a pipe");
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what the program prints")?;
        let line = String::from_utf8_lossy(&line);
        see(&line);
    }
    Ok(child.wait().context("cannot wait for the program")?.success())
}

/// Runs `command` silently and returns its standard output; an error carries its last words.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let done = command.output().with_context(|| format!("cannot start {}", name(command)))?;
    let words = String::from_utf8_lossy(&done.stderr);
    anyhow::ensure!(done.status.success(), "{} failed: {}", name(command), words.trim());
    String::from_utf8(done.stdout)
        .with_context(|| format!("{} printed bytes that are not UTF-8", name(command)))
}

/// Where `program` lies on the search path, if it does.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Are we the superuser?
pub fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|text| text.trim() == "0")
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
