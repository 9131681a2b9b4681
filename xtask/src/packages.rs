//! The packages that some tests need: named, reasoned, and installed when that is in our power.

use std::process::Command;

use crate::cargo;
use crate::totals::Totals;

/// A package and what would be skipped without it.
#[derive(Debug, Clone, Copy)]
struct Package {
    name: &'static str,
    program: &'static str,
    needed_for: &'static str,
    from: Source,
}

/// Who has a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Debian,
    /// The Python package index; Debian has none of it.
    Python,
}

const PACKAGES: &[Package] = &[
    Package {
        name: "binutils",
        program: "objdump",
        needed_for: "disassembly tests: they read the kernels' machine code with objdump",
        from: Source::Debian,
    },
    Package {
        name: "chromium",
        program: "chromium",
        needed_for: "browser tests: they open the report in headless Chromium",
        from: Source::Debian,
    },
    Package {
        name: "slurm-wlm",
        program: "sbatch",
        needed_for: "the fleet test: eight nodes of a Slurm on loopback",
        from: Source::Debian,
    },
    Package {
        name: "munge",
        program: "munge",
        needed_for: "the fleet test: Slurm's daemons know each other by it",
        from: Source::Debian,
    },
    Package {
        name: "duckdb-cli",
        program: "duckdb",
        needed_for: "tests of fleets: DuckDB reads the rows of many nodes",
        from: Source::Python,
    },
    Package {
        name: "qemu-system-x86",
        program: "qemu-system-x86_64",
        needed_for: "the lab: machines whose truth is known, emulated",
        from: Source::Debian,
    },
];

/// Sees to it that the programs are there, and says loudly what will be skipped where they are not.
pub fn ensure() -> Totals {
    let missing = absent();
    if missing.is_empty() {
        println!("all present: {}", names(PACKAGES));
        return Totals::default();
    }
    for from in [Source::Debian, Source::Python] {
        let wanted: Vec<Package> = missing.iter().copied().filter(|package| package.from == from).collect();
        if cargo::is_root() && cargo::find(from.installer()).is_some() && !from.install(&wanted) {
            println!("installing failed; going on without");
        }
    }
    let mut totals = Totals::default();
    for package in absent() {
        let installer = package.from.installer();
        println!("MISSING {}: {installer} install {} (as root)", package.program, package.name);
        println!("        without it these are skipped: {}", package.needed_for);
        totals.skips.push(format!("{} (no {})", package.needed_for, package.program));
    }
    totals
}

fn absent() -> Vec<Package> {
    PACKAGES.iter().copied().filter(|package| cargo::find(package.program).is_none()).collect()
}

impl Source {
    fn installer(self) -> &'static str {
        match self {
            Self::Debian => "apt-get",
            Self::Python => "pip",
        }
    }

    fn install(self, missing: &[Package]) -> bool {
        if missing.is_empty() {
            return true;
        }
        println!("installing {}", names(missing));
        let words: &[&[&str]] = match self {
            Self::Debian => &[&["update", "-qq"], &["install", "-y", "-qq", "--no-install-recommends"]],
            Self::Python => &[&["install", "--quiet", "--root-user-action=ignore"]],
        };
        let mut commands: Vec<Command> = words.iter().map(|words| self.command(words)).collect();
        commands.last_mut().map(|command| command.args(missing.iter().map(|package| package.name)));
        commands.iter_mut().all(|command| cargo::succeeds(command).unwrap_or(false))
    }

    fn command(self, words: &[&str]) -> Command {
        let mut command = Command::new(self.installer());
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

fn names(packages: &[Package]) -> String {
    packages.iter().map(|package| package.name).collect::<Vec<_>>().join(", ")
}
