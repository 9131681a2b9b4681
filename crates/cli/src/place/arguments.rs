//! What `sidestep place` takes on the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use toggles::Place;

use super::export::Form;
use crate::forms::Forms;
use crate::option_values::{parse_budget, parse_percent};
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
    /// What the check-up measured of this machine (a record, or its folder): contention, line transfer
    #[arg(long, value_name = "RECORD")]
    pub(crate) check_up: Option<PathBuf>,
    /// Print the recommended placement for other programs, in place of the page; repeatable; not printed with --json
    #[arg(long, value_name = "FORM")]
    pub(crate) export: Vec<Form>,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Write place.json, with every run, to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
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
    #[arg(long, requires = "metric_command", conflicts_with = "command")]
    pub(crate) keep_slow: bool,
    /// With --pid: watch it for so long before anything is decided
    #[arg(long, value_name = "TIME", value_parser = parse_budget, default_value = "3s", requires = "pid", conflicts_with = "command")]
    pub(crate) profile: Duration,
    /// The program and its arguments, after --
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid")]
    pub(crate) command: Vec<OsString>,
}

impl PlaceArguments {
    /// Where pins are journalled.
    pub(crate) fn place(&self) -> Place {
        self.state.as_ref().map_or_else(Place::of_user, |state| Place { state: state.clone(), tree: None })
    }
}
