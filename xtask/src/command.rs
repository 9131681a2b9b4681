//! The table of tasks: a new task is a new row here and a file beside this one.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::totals::Totals;
use crate::{
    arm64, browser, commands, dist, fleet_test, fresh, fuzz, golden, kill_toggles, lab, schema, steps,
    threads, tidy,
};

/// Does the task that the command line names.
pub fn main() -> ExitCode {
    match Arguments::parse().task.run() {
        Ok(totals) => {
            if totals != Totals::default() {
                print!("{}", totals.closing());
            }
            ExitCode::from(u8::from(totals.failed > 0))
        }
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Development tasks of sidestep
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// All tasks, in the order a newcomer meets them. What a task says of itself stands at its arguments.
#[derive(Debug, Subcommand)]
enum Task {
    Test(steps::Arguments),
    /// The house rules alone
    ///
    /// Checks layers, circles of modules, file and function length, where `unsafe`, files and printing may stand, names, dead markers,
    /// links, lengths, words and examples of documents, licences and the number of published crates. The same rules run in `cargo test`.
    Tidy,
    /// Command lines against their transcripts
    ///
    /// Runs the transcripts of tests/cli against target/release/sidestep; build that first. UPDATE_EXPECT=1 rewrites them.
    Golden,
    Browser(browser::Arguments),
    KillToggles(kill_toggles::Arguments),
    Fuzz(fuzz::Arguments),
    Lab(lab::Arguments),
    Arm64(arm64::Arguments),
    /// Check-ups on eight nodes of a Slurm on loopback: killed, full, wrong, cancelled, drained, not rebooted
    ///
    /// Needs target/release/sidestep, and of Debian slurm-wlm and munge; skipped by name without them. Takes under three minutes.
    FleetTest,
    /// Programs with threads, for tests and claims about `sidestep place`
    #[command(subcommand)]
    Threads(threads::Programs),
    Dist(dist::Arguments),
    /// Rewrite the pages of docs/commands from the command line's definition
    ///
    /// One page per command of `sidestep`. A test of the crate cli holds them; this runs it with UPDATE_EXPECT=1.
    Docs,
    /// Rewrite the JSON Schemas of docs from the types
    ///
    /// One per document that --json prints. A test of the crate cli holds them; this runs it with UPDATE_EXPECT=1. Read the difference
    /// before committing it: a field that changes its meaning raises the number of its document.
    Schema,
    /// Fresh documents of the release build against their JSON Schemas
    Fresh,
}

impl Task {
    fn run(self) -> anyhow::Result<Totals> {
        match self {
            Self::Test(arguments) => steps::run(&arguments),
            Self::Tidy => tidy::run(),
            Self::Golden => golden::run(),
            Self::Browser(arguments) => browser::run(&arguments),
            Self::KillToggles(arguments) => kill_toggles::run(&arguments),
            Self::Fuzz(arguments) => fuzz::run(&arguments),
            Self::Lab(arguments) => lab::run(&arguments),
            Self::Arm64(arguments) => arm64::run(&arguments),
            Self::FleetTest => fleet_test::run(),
            Self::Threads(programs) => threads::run(&programs).map(|()| Totals::default()),
            Self::Dist(arguments) => dist::run(&arguments),
            Self::Docs => commands::rewrite(),
            Self::Schema => schema::rewrite(),
            Self::Fresh => fresh::check(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_tasks_is_sound() {
        Arguments::command().debug_assert();
    }
}
