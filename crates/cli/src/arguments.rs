//! What a user can type. Help, manual pages and completions are made from this.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use machine::{Bytes, CpuSet};
use probes::fault_injection;
use record::Planted;

use crate::ab::AbArguments;
use crate::bill::BillArguments;
use crate::clock::ClockArguments;
use crate::compare::CompareArguments;
use crate::flaws::FlawArguments;
use crate::fleet::FleetArguments;
use crate::fleet_record::DropArguments;
use crate::forms::{Forms, Words};
use crate::guard::GuardArguments;
use crate::history::HistoryArguments;
use crate::place::PlaceArguments;
use crate::repeat::RepeatArguments;
use crate::simulate::SimulateArguments;
use crate::sockets::SocketsArguments;
use crate::toggles::ToggleArguments;
use crate::workloads::WorkloadArguments;
use crate::{forms, gate_flags};

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

/// What holds for every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout instead of text
    #[arg(help_heading = forms::HEADING, long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but errors (and the JSON document, with --json)
    #[arg(help_heading = forms::HEADING, long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours; NO_COLOR and TERM=dumb count too
    #[arg(help_heading = forms::HEADING, long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Colour,
    /// `--gate`, on a command that judges; `compare` has its own, with a percentage
    #[arg(skip)]
    pub(crate) gate: bool,
    /// `--strict`, on a command whose judgement may be open
    #[arg(skip)]
    pub(crate) strict: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
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
    Fleet(FleetArguments),
    /// CPU flaws of this machine: mitigated or not, and what to do
    Flaws(FlawArguments),
    /// What a setting or another program costs, in random order
    Ab(Box<AbArguments>),
    /// What every setting and mitigation costs a program, ranked
    Bill(Box<BillArguments>),
    /// Compare check-ups or result files: what changed, how certainly
    Compare(CompareArguments),
    /// Is time safe? Counters of all CPUs, cost of each clock, a watch
    Clock(ClockArguments),
    /// Are all sockets equal? Latency, bandwidth, links, and why not
    Sockets(SocketsArguments),
    /// Which threads share data; the best placement, and its gain
    Place(Box<PlaceArguments>),
    /// How precise sidestep is here: false alarms, detection limits
    Selftest(SelftestArguments),
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

/// Options of the check-up.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArguments {
    /// Take at most 20 seconds
    #[arg(long, conflicts_with_all = ["full", "budget"])]
    pub(crate) quick: bool,
    /// Measure everything: all kernels, larger blocks, several minutes
    #[arg(long)]
    pub(crate) full: bool,
    /// Take at most this long, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Only these sections or probes, such as memory,cores or surface
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Write record.json and report.html here instead of ./sidestep-<UTC time>
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Compress the record (record.json.zst)
    #[arg(long)]
    pub(crate) zstd: bool,
    /// Keep the host name in the record; it is left out otherwise
    #[arg(long)]
    pub(crate) host_name: bool,
    /// Keep the whole command line of the kernel in the record; values that may name a disk, host or password are left out
    /// otherwise
    #[arg(long)]
    pub(crate) full_command_line: bool,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Measure in so many fresh processes, one after the other, within the same time; 1 measures in this one
    #[arg(long, value_name = "NUMBER", default_value_t = EPOCHS, value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(crate) epochs: u8,
    /// Print what would be measured, in which time, and stop
    #[arg(long)]
    pub(crate) plan: bool,
    /// Be one epoch of a check-up, with the task on standard input, and hand back the record in these descriptors
    #[arg(long, hide = true, requires = "parent")]
    pub(crate) epoch: bool,
    /// The process that started this epoch
    #[arg(long, value_name = "PID", hide = true, requires = "epoch")]
    pub(crate) parent: Option<u32>,
    /// Plant a difference, to see whether it is found: windows of the raw series that hold this text come out longer by the
    /// factor; class:NAME is for a class of them. The record says so, and does not enter the history
    #[arg(long, value_name = "ROW=FACTOR", hide = true, value_parser = parse_planted)]
    pub(crate) inject: Vec<Planted>,
    #[command(flatten)]
    pub(crate) again: RepeatArguments,
    #[command(flatten)]
    pub(crate) dropping: DropArguments,
    #[command(flatten)]
    pub(crate) words: Words,
    /// What counts as free memory at most; only other commands set it.
    #[arg(skip)]
    pub(crate) free_memory_max: Option<Bytes>,
}

/// Epochs of a check-up where nothing else is said.
const EPOCHS: u8 = probes::plan::EPOCHS as u8;

/// Options of `machine`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MachineArguments {
    /// Read a recorded machine: a directory or tarball with proc/ and sys/
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) sysroot: Option<PathBuf>,
    /// Read a CPUID dump: a directory or tarball with pu0, pu1, ...
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) cpuid: Option<PathBuf>,
    /// Show the whole command line of the kernel; values that may name a disk, host or password are left out otherwise
    #[arg(long)]
    pub(crate) full_command_line: bool,
    /// Record this machine as a tarball for a bug report or a test, to a new file; nothing in it names the host
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sysroot", "cpuid"])]
    pub(crate) save: Option<PathBuf>,
    /// With --save: name the recording after this host; it is called "machine" otherwise
    #[arg(long, requires = "save")]
    pub(crate) host_name: bool,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Options of `selftest`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelftestArguments {
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Take about this long, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Options of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArguments {
    /// A record, a folder that holds record.json, or what --json of another command printed
    pub(crate) record: PathBuf,
    /// Print the report as HTML
    #[arg(long, conflicts_with_all = ["csv", "svg"])]
    pub(crate) html: bool,
    /// Print every result as CSV
    #[arg(long, conflicts_with = "svg")]
    pub(crate) csv: bool,
    /// Print one figure as SVG
    #[arg(long, value_name = "FIGURE")]
    pub(crate) svg: Option<String>,
    #[command(flatten)]
    pub(crate) words: Words,
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
        let matches = gate_flags::command().try_get_matches_from(words)?;
        let arguments = Self::from_arg_matches(&matches)?;
        let (gate, strict) = gate_flags::asked(&matches);
        let global = Global { gate, strict, ..arguments.global };
        Ok((arguments.command.unwrap_or(Command::Run(arguments.run)), global))
    }
}

/// Reads `order Random=1.05` or `class:stream=0.5`.
fn parse_planted(text: &str) -> Result<Planted, String> {
    let (row, factor) = text.rsplit_once('=').ok_or("give a row and a factor, such as class:stream=1.05")?;
    let factor = factor.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    let factor = factor.ok_or("the factor is a number above 0")?;
    if let Some(class) = row.strip_prefix(fault_injection::CLASS) {
        let names = fault_injection::classes;
        if !names().any(|name| name == class) {
            return Err(format!("no class {class}; there are {}", names().collect::<Vec<_>>().join(", ")));
        }
    }
    if row.is_empty() {
        return Err("name a row".to_owned());
    }
    Ok(Planted { row: row.to_owned(), factor })
}

/// The longest budget; the planner knows the shortest, which depends on what is to be measured.
const BUDGET_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Units of time that the command line takes, in seconds; `ms` before the `s` it ends in.
const TIME_UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Reads `30s`, `5m`, `1h`, `300ms` or a bare number of seconds.
pub(crate) fn parse_budget(text: &str) -> Result<Duration, String> {
    let of_unit = |(unit, factor_s): &(&str, f64)| Some((text.strip_suffix(unit)?, *factor_s));
    let (digits, factor_s) = TIME_UNITS.iter().find_map(of_unit).unwrap_or((text, 1.0));
    let seconds = digits.trim().parse::<f64>().ok().map(|number| number * factor_s);
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(budget) if !budget.is_zero() && budget <= BUDGET_MAX => Ok(budget),
        Some(_) => Err("give more than 0s and at most 24h".to_owned()),
        None => Err("give a time such as 30s, 5m or 1h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_carry_a_unit_and_are_more_than_nothing() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("5m", Some(300)),
            ("1h", Some(3600)),
            ("45", Some(45)),
            ("1.5m", Some(90)),
            ("24h", Some(86_400)),
        ] {
            assert_eq!(parse_budget(text).ok().map(|budget| budget.as_secs()), seconds, "{text}");
        }
        assert_eq!(parse_budget("300ms"), Ok(Duration::from_millis(300)));
        for text in ["", "ms", "0ms", "0", "0s", "-3", "nan", "inf", "1e300", "24.1h", "s", "5x", "ä"] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_planted_is_a_row_or_a_class_and_a_factor() {
        let planted = parse_planted("latency, a=b=1.05").expect("a row with a sign in it");
        assert_eq!((planted.row.as_str(), planted.factor.to_bits()), ("latency, a=b", 1.05_f64.to_bits()));
        assert!(parse_planted("class:stream=0.5").is_ok());
        for text in ["", "x", "=2", "x=0", "x=-1", "x=nan", "x=inf", "class:steam=2"] {
            assert!(parse_planted(text).is_err(), "{text}");
        }
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
