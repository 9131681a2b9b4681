//! What `sidestep bill` takes on the command line.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::forms::Forms;
use crate::option_values::{parse_budget, parse_percent};
use crate::program_arguments::{GROUP, ProgramArguments};
use crate::toggles::ConsentArguments;
use crate::workloads::Selection;

/// Options of `bill`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BillArguments {
    /// Take at most this long, warming up included [default: 10m; 40m for several programs]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Price a workload: its id, or a file of your own; see sidestep workloads
    #[arg(long, value_name = "ID|FILE.toml", value_delimiter = ',')]
    pub(crate) workload: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Only these settings, such as thp,ssbd; NAME=VALUE for a value of your choice
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) toggles: Vec<String>,
    /// Costs up to this are of no practical matter
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "1")]
    pub(crate) margin: f64,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// Wall or CPU time [default: wall for a command, a workload's own number]; CPU time varies less on a busy machine
    #[arg(long, value_name = "TIME", conflicts_with = "metric")]
    pub(crate) measure: Option<Measured>,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Print what would be switched, and stop
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Go on with the bill that was interrupted or killed, with its own options
    #[arg(long, conflicts_with_all = [GROUP, "ConsentArguments", "Selection", "budget", "toggles", "margin", "measure", "seed", "command", "workload"])]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) forms: Forms,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    /// The program and its arguments, after --, unless workloads are named
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A time of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measured {
    /// From start to end
    Wall,
    /// User and system time of all its threads
    Cpu,
}

impl Measured {
    /// As the document names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall time",
            Self::Cpu => "CPU time",
        }
    }
}
