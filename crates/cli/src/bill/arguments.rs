//! What `sidestep bill` takes on the command line.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::ab::Way;
use crate::arguments::parse_budget;
use crate::compare::parse_percent;
use crate::forms::Forms;
use crate::toggles::ConsentArguments;

/// Options of `bill`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BillArguments {
    /// Take at most this long, warming up included [default: 10m]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Only these settings, such as thp,ssbd; NAME=VALUE for a value of your choice
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) toggles: Vec<String>,
    /// Costs up to this are of no practical matter
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "1")]
    pub(crate) margin: f64,
    /// Look for a number in the program's output: the first group of this pattern; else its time counts
    #[arg(long, value_name = "REGEX")]
    pub(crate) metric: Option<String>,
    /// Which direction of the metric is the good one
    #[arg(long, value_name = "WAY", requires = "metric", default_value = "lower")]
    pub(crate) better: Way,
    /// Which time counts; CPU time varies less on a busy machine
    #[arg(long, value_name = "TIME", default_value = "wall", conflicts_with = "metric")]
    pub(crate) measure: Measured,
    /// Run this by sh before each run, outside the timing
    #[arg(long, value_name = "COMMAND")]
    pub(crate) prepare: Option<String>,
    /// Kill a run that takes longer, such as 10s; it counts as failed
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) timeout: Option<Duration>,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Print what would be switched, and stop
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Go on with the bill that was interrupted or killed, with its own options
    #[arg(long, conflicts_with_all = ["budget", "toggles", "metric", "prepare", "timeout", "seed", "command"])]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) forms: Forms,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    /// The program and its arguments, after --
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
