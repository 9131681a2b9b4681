//! `cargo evidence`: what METHODOLOGY claims, measured again: a command for each claim, and the line it has to print.
//!
//! The claims are the table `claims.toml`. What no command of sidestep prints by itself (simulated experiments, bills of known costs,
//! records of many nodes) is a measurement of this program, which the table calls like any other command. Neither `cargo xtask test` nor
//! the default build touches this crate: it is for a release, and for whoever doubts a number.
#![forbid(unsafe_code)]

mod alarms;
mod bill;
mod claims;
mod estimators;
mod flaws_coverage;
mod fleet_records;
mod links;
mod records;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What METHODOLOGY claims, measured again
#[derive(Debug, Parser)]
#[command(name = "cargo evidence", bin_name = "cargo evidence", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Claims(claims::Arguments),
    Alarms(alarms::Arguments),
    Bill(bill::Arguments),
    Links(links::Arguments),
    Estimators(estimators::Arguments),
    FleetRecords(fleet_records::Arguments),
    FlawsCoverage(flaws_coverage::Arguments),
}

/// What did not hold, a sentence each.
type Broken = Vec<String>;

fn main() -> ExitCode {
    let broken = match Arguments::parse().task {
        Task::Claims(arguments) => claims::run(&arguments),
        Task::Alarms(arguments) => Ok(alarms::run(&arguments)),
        Task::Bill(arguments) => Ok(bill::run(&arguments)),
        Task::Links(arguments) => Ok(links::run(&arguments)),
        Task::Estimators(arguments) => estimators::run(&arguments),
        Task::FleetRecords(arguments) => fleet_records::run(&arguments),
        Task::FlawsCoverage(arguments) => flaws_coverage::run(&arguments),
    };
    match broken {
        Ok(broken) => {
            for line in &broken {
                println!("BROKEN {line}");
            }
            println!("{}", if broken.is_empty() { "all held" } else { "not all held" });
            ExitCode::from(u8::from(!broken.is_empty()))
        }
        Err(error) => {
            eprintln!("cargo evidence: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// `line` if it does not hold.
fn unless(holds: bool, line: impl Into<String>) -> Option<String> {
    (!holds).then(|| line.into())
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
