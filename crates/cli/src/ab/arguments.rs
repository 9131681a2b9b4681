//! What `sidestep ab` takes on the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use machine::CpuId;

use super::across_reboot::AcrossRebootArguments;
use crate::arguments::parse_budget;
use crate::compare::parse_percent;
use crate::forms::Forms;
use crate::program_arguments::ProgramArguments;
use crate::toggles::ConsentArguments;

/// Options of `ab`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AbArguments {
    /// What to switch: NAME (its own two values), NAME=B (from what holds now to B) or NAME=A:B
    #[arg(long, value_name = "NAME[=A:B]", required_unless_present_any = ["a", "across_reboot", "across_reboot_action"], conflicts_with_all = ["a", "b"])]
    pub(crate) toggle: Option<String>,
    /// Compare two programs: the first; with --across-reboot, words of the kernel's command line, '' for none
    #[arg(long, value_name = "COMMAND", requires = "b")]
    pub(crate) a: Option<String>,
    /// The second
    #[arg(long, value_name = "COMMAND", requires = "a")]
    pub(crate) b: Option<String>,
    /// With --a and --b: split the commands at blanks instead of giving them to sh
    #[arg(long, requires = "a")]
    pub(crate) no_shell: bool,
    /// Take at most this long, getting ready included [default: 15s for probes once they are ready, 1m for programs]
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Stop when the interval is this narrow, to either side [default: half of the margin]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) precision: Option<f64>,
    /// Take exactly this many pairs, in quads of two and at least 12, as fewer have no interval, if the budget allows
    #[arg(long, value_name = "N", value_parser = parse_pairs, conflicts_with = "precision")]
    pub(crate) pairs: Option<usize>,
    /// Differences up to this are of no practical matter [default: 1% for probes, 2% for programs]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) margin: Option<f64>,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// Show what the program prints, on stderr
    #[arg(long, conflicts_with = "metric")]
    pub(crate) show_output: bool,
    /// Run probes or program on this CPU [default for probes: the last one allowed]
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Write experiment.json, with every trial, to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Print what would be switched, write by write, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) forms: Forms,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    /// The program and its arguments, after --; without it the probes that the toggle can move
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) across: AcrossRebootArguments,
}

fn parse_pairs(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|pairs| *pairs > 0).ok_or_else(|| "give a number above 0".to_owned())
}

impl AbArguments {
    /// The CPU asked for.
    pub(crate) fn cpu(&self) -> Option<CpuId> {
        self.cpu.map(CpuId)
    }

    /// True if a program is run, not probes.
    pub(crate) fn runs_programs(&self) -> bool {
        self.a.is_some() || !self.command.is_empty()
    }
}
