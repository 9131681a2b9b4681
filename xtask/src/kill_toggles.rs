//! Experiments on a recorded tree, killed at random points a thousand times: who mended, and how soon.

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;

/// The rest of `cargo xtask kill-toggles --help`.
pub const HELP: &str = "Runs the test kill_toggles of the crate cli with more kills than `cargo test` does, and prints its table: by
victims (parent alone, parent then watchdog, watchdog then parent) how many kills met a switched tree, how
many needed a revert, and the time from the kill until the tree was as before.

  --kills N   how many in all; 1000 unless given
";

/// Kills unless the user says how many.
const KILLS: usize = 1000;

/// `cargo xtask kill-toggles`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let kills = Flags::parse(arguments, &["--kills"], &[])?.count("--kills", KILLS)?;
    let arguments = ["test", "--quiet", "--release", "--package", "cli", "--test", "kill_toggles", "--"];
    let mut command = cargo::cargo(&arguments);
    command.args(["a_killed_experiment", "--nocapture"]).env("SIDESTEP_KILLS", kills.to_string());
    let passed = cargo::succeeds(&mut command)?;
    Ok(Totals::one(passed, "kill-toggles: a tree was not mended"))
}
