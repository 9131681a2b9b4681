//! The table of tasks: a new task is a new row here and a file beside this one.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::totals::Totals;
use crate::{
    ab_evidence, answers_evidence, arm64, bench, bench_clock, between_runs, bill_evidence, browser,
    clock_evidence, commands, dist, estimators, flaws_coverage, fleet_evidence, fleet_records, fleet_test,
    fuzz, golden, guard_evidence, kill_toggles, lab, links_evidence, placement_evidence, placement_programs,
    promise, pts_coverage, schema, sharing_evidence, sockets_evidence, steps, tidy,
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
    /// Everything a change has to pass
    ///
    /// Debian packages, fmt, clippy, what ships checked for arm64, tests (unit, golden, property,
    /// disassembly, tidy), doc, licences, cargo deny where installed, the build that ships, golden command
    /// lines, fresh documents against their schemas, and a quick check-up with its record and report. A step that fails does not
    /// stop the others. The last line is `N passed, N failed, N skipped`.
    Test,
    /// The house rules alone
    ///
    /// Checks layers, file and function length, where `unsafe`, files and printing may stand, names, dead markers, links, lengths, words
    /// and examples of documents, licences and the number of published crates. The same rules run in `cargo test`.
    Tidy,
    /// Command lines against their transcripts
    ///
    /// Runs the transcripts of tests/cli against target/release/sidestep; build that first. UPDATE_EXPECT=1 rewrites them.
    Golden,
    Browser(browser::Arguments),
    Bench(bench::Arguments),
    /// Our side of one run of bench, and the speed of simulations
    #[command(subcommand)]
    BenchOne(bench::Own),
    BenchClock(bench_clock::Arguments),
    Promise(promise::Arguments),
    KillToggles(kill_toggles::Arguments),
    Fuzz(fuzz::Arguments),
    Lab(lab::Arguments),
    Arm64(arm64::Arguments),
    FlawsCoverage(flaws_coverage::Arguments),
    FleetTest(fleet_test::Arguments),
    FleetRecords(fleet_records::Arguments),
    AbEvidence(ab_evidence::Arguments),
    AnswersEvidence(answers_evidence::Arguments),
    BillEvidence(bill_evidence::Arguments),
    ClockEvidence(clock_evidence::Arguments),
    FleetEvidence(fleet_evidence::Arguments),
    GuardEvidence(guard_evidence::Arguments),
    PlacementEvidence(placement_evidence::Arguments),
    Estimators(estimators::Arguments),
    SharingEvidence(sharing_evidence::Arguments),
    SharingSubject(sharing_evidence::subject::Arguments),
    SocketsEvidence(sockets_evidence::Arguments),
    LinksEvidence(links_evidence::Arguments),
    BetweenRuns(between_runs::Arguments),
    PtsCoverage(pts_coverage::Arguments),
    /// The program that ab-evidence runs: so many rounds of 64 dependent multiplications
    Spin {
        /// How many.
        rounds: u64,
    },
    /// The programs that placement-evidence runs
    #[command(subcommand)]
    Threads(placement_programs::Programs),
    Dist(dist::Arguments),
    /// Rewrite the pages of docs/commands from the command line's definition
    ///
    /// One page per command of `sidestep`. A test of the crate cli holds them; this runs it with UPDATE_EXPECT=1.
    Docs,
    Schema(schema::Arguments),
}

impl Task {
    fn run(self) -> anyhow::Result<Totals> {
        match self {
            Self::Test => steps::run(),
            Self::Tidy => tidy::run(),
            Self::Golden => golden::run(),
            Self::Browser(arguments) => browser::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments),
            Self::BenchOne(arguments) => bench::run_own(&arguments),
            Self::BenchClock(arguments) => bench_clock::run(&arguments),
            Self::Promise(arguments) => promise::run(&arguments),
            Self::KillToggles(arguments) => kill_toggles::run(&arguments),
            Self::Fuzz(arguments) => fuzz::run(&arguments),
            Self::Lab(arguments) => lab::run(&arguments),
            Self::Arm64(arguments) => arm64::run(&arguments),
            Self::FlawsCoverage(arguments) => flaws_coverage::run(&arguments),
            Self::FleetTest(arguments) => fleet_test::run(&arguments),
            Self::FleetRecords(arguments) => fleet_records::run(&arguments),
            Self::AbEvidence(arguments) => ab_evidence::run_all(&arguments),
            Self::AnswersEvidence(arguments) => answers_evidence::run(&arguments),
            Self::BillEvidence(arguments) => bill_evidence::run(&arguments),
            Self::ClockEvidence(arguments) => clock_evidence::run(&arguments),
            Self::FleetEvidence(arguments) => fleet_evidence::run(&arguments),
            Self::GuardEvidence(arguments) => guard_evidence::run(&arguments),
            Self::PlacementEvidence(arguments) => placement_evidence::run(&arguments),
            Self::Estimators(arguments) => estimators::run(&arguments),
            Self::SharingEvidence(arguments) => sharing_evidence::run(&arguments),
            Self::SharingSubject(arguments) => sharing_evidence::subject::run(&arguments),
            Self::SocketsEvidence(arguments) => sockets_evidence::run(&arguments),
            Self::LinksEvidence(arguments) => links_evidence::run(&arguments),
            Self::BetweenRuns(arguments) => between_runs::run(&arguments),
            Self::PtsCoverage(arguments) => pts_coverage::run(&arguments),
            Self::Spin { rounds } => Ok(ab_evidence::spin(rounds)),
            Self::Threads(programs) => placement_programs::run(&programs),
            Self::Dist(arguments) => dist::run(&arguments),
            Self::Docs => commands::rewrite(),
            Self::Schema(arguments) => schema::run(&arguments),
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
