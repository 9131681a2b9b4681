//! Experiments on a recorded tree, killed at random points a thousand times: who mended, and how soon. And reverts, killed
//! at each of their steps.

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;

/// The rest of `cargo xtask kill-toggles --help`.
pub const HELP: &str = "Runs the test kill_toggles of the crate cli with more kills than `cargo test` does, and prints its tables: by
victims (parent alone, parent then watchdog, watchdog then parent) how many kills met a switched tree, how
many needed a revert, and the time from the kill until the tree was as before; by step of `toggles revert`, how
many kills left a switched tree and a journal, all of which the next revert put back.

  --kills N   how many of experiments, and as many of reverts; 1000 unless given
";

/// Kills unless the user says how many.
const KILLS: usize = 1000;

/// `cargo xtask kill-toggles`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let kills = Flags::parse(arguments, &["--kills"], &[])?.count("--kills", KILLS)?;
    let arguments = ["test", "--quiet", "--release", "--package", "cli", "--test", "kill_toggles", "--"];
    let mut command = cargo::cargo(&arguments);
    command.args(["a_killed", "--nocapture", "--test-threads", "1"]).env("SIDESTEP_KILLS", kills.to_string());
    let passed = cargo::succeeds(&mut command)?;
    Ok(Totals::one(passed, "kill-toggles: a tree was not mended"))
}
