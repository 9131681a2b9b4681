//! `cargo xtask fleet-test`: the test of the crate cli that measures on eight nodes of a Slurm of its own.

use crate::cargo;
use crate::totals::Totals;

/// `cargo xtask fleet-test`.
///
/// # Errors
/// cargo cannot be started.
pub fn run() -> anyhow::Result<Totals> {
    let mut test = cargo::cargo("test --quiet --package cli --test slurm");
    let mut printed = String::new();
    let passed = cargo::follow(test.env("SIDESTEP_PROGRAM", cargo::sidestep()), |line| {
        println!("{line}");
        printed = format!("{printed}{line}\n");
    })?;
    let totals = Totals::of_closing(&printed);
    let is_counted = passed || totals.failed > 0;
    Ok(if is_counted { totals } else { Totals::one_failed("fleet-test: it ended early; see above") })
}
