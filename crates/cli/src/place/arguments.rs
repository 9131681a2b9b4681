//! What `sidestep place` takes on the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use toggles::Place;

use super::export::Form;
use crate::arguments::parse_budget;
use crate::compare::parse_percent;
use crate::forms::Forms;
use crate::program_arguments::{GROUP, ProgramArguments};

/// Options of `place`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArguments {
    /// Take at most this long, profile included [default: 1m; with --metric-command 25 windows of each of four placements]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Differences up to this are of no practical matter
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "2")]
    pub(crate) margin: f64,
    /// Run each placement exactly so often, if the budget allows, in place of until the interval is narrow
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) runs: Option<u16>,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// What the check-up measured of this machine (a record, or its folder): contention, line transfer, waking
    #[arg(long, value_name = "RECORD")]
    pub(crate) check_up: Option<PathBuf>,
    /// Print the recommended placement for other programs, in place of the page; repeatable; not with --threads, and not printed with --json
    #[arg(long, value_name = "FORM")]
    pub(crate) export: Vec<Form>,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Write place.json, with every run, to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Try each of these numbers of threads, such as 1..8: the number stands for {threads} in the command, and in OMP_NUM_THREADS;
    /// without --export
    #[arg(long, value_name = "COUNTS", value_parser = super::sweep::parse_counts, conflicts_with_all = ["pid", "export"])]
    pub(crate) threads: Option<std::vec::Vec<usize>>,
    #[command(flatten)]
    pub(crate) forms: Forms,
    /// With --html: leave the interactive charts out
    #[arg(long, requires = "html")]
    pub(crate) no_script: bool,
    /// Change nothing in any placement: whatever is found then is false
    #[arg(long, hide = true)]
    pub(crate) aa: bool,
    /// The folder of lock and journal
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) state: Option<PathBuf>,
    /// Place the threads of a process that runs already, and of all that it starts. To compare placements it is put into each of
    /// them, in some of which it may be several times slower while that window lasts: think before you do so to a live service.
    /// The threads are free again in the end; if sidestep is killed its watchdog frees them at once, and where that was killed
    /// too, sidestep toggles revert does
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", GROUP])]
    pub(crate) pid: Option<u32>,
    /// With --pid: a shell command that prints a number which rises with the work done; without it nothing can be proven
    #[arg(long, value_name = "COMMAND", requires = "pid", conflicts_with = "command")]
    pub(crate) metric_command: Option<String>,
    /// With --pid: how long each placement is looked at in turn
    #[arg(long, value_name = "TIME", value_parser = parse_budget, default_value = "1s", requires = "pid", conflicts_with = "command")]
    pub(crate) window: Duration,
    /// With --metric-command: go on with a placement under which less than half gets done of what the kernel's gets done; else it is left out
    /// as soon as three windows of each show that
    #[arg(long, requires = "metric_command", conflicts_with_all = ["command", "hold"])]
    pub(crate) keep_slow: bool,
    /// With --pid: watch it for so long before anything is decided
    #[arg(long, value_name = "TIME", value_parser = parse_budget, default_value = "3s", requires = "pid", conflicts_with = "command")]
    pub(crate) profile: Duration,
    /// With --pid: prove nothing, but hold this placement, of threads that come later too, until Ctrl-C, the end of --budget, or of
    /// the process
    #[arg(long, value_name = "PLACEMENT", requires = "pid", conflicts_with_all = ["command", "metric_command", "window", "runs", "record", "html", "csv", "markdown", "export"])]
    pub(crate) hold: Option<Held>,
    /// With --pid: go on watching, and place anew when the program has changed, that lasts, and windows in turns show a gain; free it
    /// when a later test shows none; until Ctrl-C, the end of --budget [default: 24h], or of the process
    #[arg(long, requires = "metric_command", conflicts_with_all = ["command", "hold", "record", "html", "csv", "markdown", "export"])]
    pub(crate) watch: bool,
    /// The program and its arguments, after --
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid")]
    pub(crate) command: Vec<OsString>,
}

/// A placement that is held unproven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Held {
    /// The best by a profile of --profile; threads that come later are free unless all of their like go to one place
    Best,
    /// Neighbours in the order of creation on CPUs that are far apart
    Spread,
    /// Neighbours in the order of creation together
    Pack,
}

impl PlaceArguments {
    /// Where pins are journalled.
    pub(crate) fn place(&self) -> Place {
        self.state.as_ref().map_or_else(Place::of_user, |state| Place { state: state.clone(), tree: None })
    }
}
