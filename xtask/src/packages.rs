//! The Debian packages that some tests need: named, reasoned, and installed when that is in our power.

use std::process::Command;

use crate::cargo;
use crate::totals::Totals;

/// A Debian package and what would be skipped without it.
#[derive(Debug, Clone, Copy)]
struct Package {
    name: &'static str,
    program: &'static str,
    needed_for: &'static str,
}

const PACKAGES: &[Package] = &[
    Package {
        name: "binutils",
        program: "objdump",
        needed_for: "disassembly tests: they read the kernels' machine code with objdump",
    },
    Package {
        name: "chromium",
        program: "chromium",
        needed_for: "browser tests: they open the report in headless Chromium",
    },
    Package {
        name: "slurm-wlm",
        program: "sbatch",
        needed_for: "the fleet test: eight nodes of a Slurm on loopback",
    },
    Package {
        name: "munge",
        program: "munge",
        needed_for: "the fleet test: Slurm's daemons know each other by it",
    },
    Package {
        name: "qemu-system-x86",
        program: "qemu-system-x86_64",
        needed_for: "the lab: machines whose truth is known, emulated",
    },
];

/// Sees to it that the programs are there, and says loudly what will be skipped where they are not.
pub fn ensure() -> Totals {
    let missing = absent();
    if missing.is_empty() {
        println!("all present: {}", names(PACKAGES));
        return Totals::default();
    }
    let can_install = cargo::is_root() && cargo::find("apt-get").is_some();
    if can_install && !install(&missing) {
        println!("installing failed; going on without");
    }
    let mut totals = Totals::default();
    for package in absent() {
        println!("MISSING {}: apt-get install {} (as root)", package.program, package.name);
        println!("        without it these are skipped: {}", package.needed_for);
        totals.skips.push(format!("{} (no {})", package.needed_for, package.program));
    }
    totals
}

fn absent() -> Vec<Package> {
    PACKAGES.iter().copied().filter(|package| cargo::find(package.program).is_none()).collect()
}

fn install(missing: &[Package]) -> bool {
    println!("installing {}", names(missing));
    let mut update = Command::new("apt-get");
    update.args(["update", "-qq"]);
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "-qq", "--no-install-recommends"]);
    install.args(missing.iter().map(|package| package.name)).env("DEBIAN_FRONTEND", "noninteractive");
    [update, install].iter_mut().all(|command| cargo::succeeds(command).unwrap_or(false))
}

fn names(packages: &[Package]) -> String {
    packages.iter().map(|package| package.name).collect::<Vec<_>>().join(", ")
}
