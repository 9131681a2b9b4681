//! Experiments on a recorded tree, killed at random points a thousand times: who mended, and how soon.

use crate::cargo;
use crate::totals::Totals;

/// Experiments killed at random points, and who mends
///
/// Runs the test kill_toggles of the crate cli with more kills than `cargo test` does, and prints its table: by victims (parent alone,
/// parent then watchdog, watchdog then parent) how many kills met a switched tree, how many needed a revert, and the time from the kill
/// until the tree was as before.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many
    #[arg(long, default_value_t = 1000)]
    kills: usize,
}

/// `cargo xtask kill-toggles`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let mut command = cargo::cargo(
        "test --quiet --release --package cli --test all -- kill_toggles::a_killed --nocapture --test-threads 1",
    );
    let passed = cargo::succeeds(command.env("SIDESTEP_KILLS", arguments.kills.to_string()))?;
    Ok(Totals::one(passed, "kill-toggles: a tree was not mended"))
}
