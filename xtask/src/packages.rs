//! The programs that some tests need: named, reasoned, and installed when that is in our power.

use std::process::Command;

use crate::cargo;
use crate::totals::Totals;

/// A program, how it is installed as root, and what would be skipped without it. Debian has no DuckDB.
type Package = (&'static str, &'static str, &'static str);

const APT: &str = "apt-get install -y -qq --no-install-recommends";
const PACKAGES: [Package; 6] = [
    ("objdump", "binutils", "disassembly tests: they read the kernels' machine code with objdump"),
    ("chromium", "chromium", "browser tests: they open pages in headless Chromium"),
    ("sbatch", "slurm-wlm", "the fleet test: eight nodes of a Slurm on loopback"),
    ("munge", "munge", "the fleet test: Slurm's daemons know each other by it"),
    ("duckdb", "pip install --quiet --root-user-action=ignore duckdb-cli", "the SQL of docs"),
    ("qemu-system-x86_64", "qemu-system-x86", "the lab: machines whose truth is known, emulated"),
];

/// Sees to it that the programs are there, and says loudly what will be skipped where they are not.
pub fn ensure() -> Totals {
    let is_absent = |(program, ..): &&Package| cargo::find(program).is_none();
    if cargo::is_root() && PACKAGES.iter().any(|package| is_absent(&package)) {
        let mut update = Command::new("apt-get");
        let _ = cargo::succeeds(update.args(["update", "-qq"]));
    }
    let mut totals = Totals::default();
    for package in PACKAGES.iter().filter(is_absent) {
        let (program, how, why) = package;
        let words = if how.contains(' ') { (*how).to_owned() } else { format!("{APT} {how}") };
        if cargo::is_root() {
            let mut install = Command::new("sh");
            let _ = cargo::succeeds(install.args(["-c", &words]).env("DEBIAN_FRONTEND", "noninteractive"));
        }
        if is_absent(&package) {
            println!("MISSING {program}: {words} (as root)\n        without it these are skipped: {why}");
            totals.skips.push(format!("{why} (no {program})"));
        }
    }
    totals
}
