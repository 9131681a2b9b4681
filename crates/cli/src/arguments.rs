//! What a user can type. Help, manual pages and completions are made from this.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::ab::AbArguments;
use crate::bill::BillArguments;
use crate::check_up::RunArguments;
use crate::clock::ClockCommand;
use crate::compare::CompareArguments;
use crate::describe::MachineArguments;
use crate::flaws::FlawArguments;
use crate::fleet::FleetCommand;
use crate::guard::GuardArguments;
use crate::history::HistoryArguments;
use crate::options::Global;
use crate::place::PlaceArguments;
use crate::show::ShowArguments;
use crate::simulate::SimulateArguments;
use crate::sockets::SocketsArguments;
use crate::toggles::ToggleArguments;
use crate::workloads::WorkloadArguments;
use crate::{forms, gate_flags, help};

/// Finds what a computing platform hides, what that costs, and what to do about it
///
/// Without a command, sidestep runs the check-up: it measures memory, cores and clocks of this machine in about
/// 90 seconds, prints a summary, and writes a record (JSON) and a report (HTML) to a new folder.
#[derive(Debug, Parser)]
#[command(name = "sidestep", version, args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    global: Global,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, findings or not; 1 only with --gate; 2 bad use or bad input; 3 could not measure or print, or --strict \
and inconclusive; 4 the machine is left changed; 130 or 143 after Ctrl-C or SIGTERM, with what was measured until then written.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The check-up: measure this machine; a summary, a record, a report
    Run(RunArguments),
    /// What a machine says it is: CPUs, caches, nodes; also saves it
    Machine(MachineArguments),
    /// Show a record again: summary, report, tables, figures
    Show(ShowArguments),
    /// Earlier check-ups of this machine, trends, what changed when
    History(HistoryArguments),
    /// Has this machine changed? Take a baseline, check against it
    Guard(GuardArguments),
    /// Many nodes: which are odd, and what explains it
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// CPU flaws of this machine: mitigated or not, and what to do
    Flaws(FlawArguments),
    /// What a setting or another program costs, in random order
    Ab(Box<AbArguments>),
    /// What every setting and mitigation costs a program, ranked
    Bill(Box<BillArguments>),
    /// Compare check-ups or result files: what changed, how certainly
    Compare(CompareArguments),
    /// Is time safe? Counters of all CPUs, cost of each clock, a watch
    #[command(subcommand)]
    Clock(ClockCommand),
    /// Are all sockets equal? Latency, bandwidth, links, and why not
    Sockets(SocketsArguments),
    /// Which threads share data; the best placement, and its gain
    Place(Box<PlaceArguments>),
    /// A modelled machine: what a workaround, link or scheduler does
    Simulate(SimulateArguments),
    /// What can be switched here, at which risk; set and restore
    Toggles(ToggleArguments),
    /// Programs to measure with: list them, run one turn of each
    Workloads(WorkloadArguments),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages to a directory
    #[command(hide = true)]
    Man {
        /// An existing directory
        directory: PathBuf,
    },
}

impl Arguments {
    /// The command asked for, `run` if none, and the options that hold for every command. What follows `--` is a user's
    /// program and its arguments: nothing here looks at it.
    ///
    /// # Errors
    /// The command line is wrong, or asks for help.
    pub(crate) fn parsed(
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<(Command, Global), clap::Error> {
        let matches = definition().try_get_matches_from(words)?;
        let arguments = Self::from_arg_matches(&matches)?;
        let (gate, strict) = gate_flags::asked(&matches);
        if let Some(command) =
            WITHOUT_DOCUMENT.iter().find(|words| arguments.global.json && is_of(&matches, words))
        {
            let why = format!("--json is not an option of {}: it prints no document", command.join(" "));
            return Err(definition().error(ErrorKind::UnknownArgument, why));
        }
        let [page_file, table_folder] = ["html", "csv"].map(|option| forms::path_of(option, &matches));
        let global = Global { gate, strict, page_file, table_folder, ..arguments.global };
        Ok((arguments.command.unwrap_or(Command::Run(arguments.run)), global))
    }
}

/// Commands that print what other programs read, and no document.
const WITHOUT_DOCUMENT: [&[&str]; 6] = [
    &["fleet", "plan"],
    &["fleet", "confirm"],
    &["fleet", "export"],
    &["guard", "unit"],
    &["completions"],
    &["man"],
];

/// Whether a command line is of the command with these words.
fn is_of(matches: &ArgMatches, words: &[&str]) -> bool {
    let below = matches.subcommand();
    words
        .split_first()
        .is_none_or(|(first, rest)| below.is_some_and(|(name, below)| name == *first && is_of(below, rest)))
}

/// The definition of the whole command line: help, manual pages and completions are made from this.
pub(crate) fn definition() -> clap::Command {
    help::explained(gate_flags::added(Arguments::command()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        definition().debug_assert();
    }

    /// Options and arguments that take a path, by what is done with it. What is new here belongs into tests/all/prepared_paths.rs as well.
    const WRITTEN: [&str; 9] =
        ["html", "csv", "junit", "prometheus", "metrics-file", "output", "save", "record", "directory"];
    const READ: [&str; 13] = [
        "check",
        "check-up",
        "cpuid",
        "drop",
        "expect",
        "against",
        "history",
        "inventory",
        "lscpu",
        "matrix",
        "records",
        "sysroot",
        "tree",
    ];
    const KEPT: [&str; 2] = ["state", "unit-folder"];

    fn paths_of(command: &clap::Command, found: &mut std::collections::BTreeSet<String>) {
        let is_path =
            |arg: &&clap::Arg| arg.get_value_parser().type_id() == std::any::TypeId::of::<PathBuf>();
        let name = |arg: &clap::Arg| arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned();
        found.extend(command.get_arguments().filter(is_path).map(name));
        command.get_subcommands().for_each(|below| paths_of(below, found));
    }

    #[test]
    fn every_path_on_the_command_line_is_known_to_be_read_written_or_kept() {
        let mut found = std::collections::BTreeSet::new();
        paths_of(&definition(), &mut found);
        let known = WRITTEN.iter().chain(&READ).chain(&KEPT).map(|name| (*name).to_owned()).collect();
        assert_eq!(found, known);
    }

    #[test]
    fn a_program_after_two_dashes_gets_exactly_what_was_typed() {
        const ROWS: [&[&str]; 8] = [
            &["./prog", "--gate", "5%"],
            &["./prog", "--gate=5%", "--json"],
            &["./prog", "--strict", "--quiet", "-q"],
            &["./prog", "--", "--json", "--"],
            &["./prog", "--help", "-V", "--version"],
            &["./prog", "", " ", "a b", "{threads}"],
            &["ab", "--toggle", "thp"],
            &["--gate"],
        ];
        for command in [&["ab", "--toggle", "thp"][..], &["place"]] {
            for program in ROWS {
                let words: Vec<OsString> =
                    [&["sidestep"], command, &["--"], program].concat().iter().map(OsString::from).collect();
                let (found, global) = Arguments::parsed(words).expect("a command line");
                let given = match found {
                    Command::Ab(arguments) => arguments.command,
                    Command::Place(arguments) => arguments.command,
                    other => panic!("{other:?}"),
                };
                assert_eq!(given, program.iter().map(OsString::from).collect::<Vec<_>>());
                assert!(!global.json && !global.quiet && !global.gate && !global.strict, "{program:?}");
            }
        }
    }
}
