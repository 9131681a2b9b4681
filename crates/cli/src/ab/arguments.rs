//! What `sidestep ab` takes on the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use experiments::ab::across_reboot::plan::{FEWEST_TRIALS, MOST_BOOTS, MOST_TRIALS};
use machine::CpuId;

use crate::forms::Forms;
use crate::options::{ProgramArguments, parse_budget, parse_percent};
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
    /// Take exactly this many pairs, in blocks of two and at least 12, as fewer have no interval, if the budget allows
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

/// The group of options of which one command takes one.
const ACTION: &str = "across_reboot_action";

/// Options of experiments across reboots.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Across reboots")]
pub(crate) struct AcrossRebootArguments {
    /// Compare boots: --a and --b are words of the kernel's command line, such as mitigations=off or !nosmt
    #[arg(long, conflicts_with_all = ["budget", "precision", "pairs", "record", "show_output", "no_shell"])]
    pub(crate) across_reboot: bool,
    /// Boots of each arm; 4 are the fewest that carry an interval [default: 5]
    #[arg(long, value_name = "N", value_parser = |text: &str| parse_count(text, 1, MOST_BOOTS), requires = "across_reboot")]
    pub(crate) boots: Option<usize>,
    /// Trials in each boot [default: 5 of a program, 20 of probes]
    #[arg(long, value_name = "N", value_parser = |text: &str| parse_count(text, FEWEST_TRIALS, MOST_TRIALS), requires = "across_reboot")]
    pub(crate) trials: Option<usize>,
    /// Let a boot settle for at most this long before it is measured [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = parse_budget, requires = "across_reboot")]
    pub(crate) settle: Option<Duration>,
    /// Measure this boot, and say what to change for the next
    #[arg(long, group = ACTION)]
    pub(crate) resume: bool,
    /// Say how far the experiment is, or what it found
    #[arg(long, group = ACTION)]
    pub(crate) status: bool,
    /// Give the experiment up; what was measured is kept
    #[arg(long, group = ACTION)]
    pub(crate) abandon: bool,
    /// Show the systemd unit that resumes after each boot, and install it
    #[arg(long, group = ACTION)]
    pub(crate) install_unit: bool,
    /// Remove that unit
    #[arg(long, group = ACTION)]
    pub(crate) remove_unit: bool,
    /// The folder of the journal [default: /var/lib/sidestep for root, else ~/.local/state/sidestep]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Print the plan and what the first boot needs, and stop
    #[arg(long, requires = "across_reboot", conflicts_with_all = ["html", "csv", "markdown", "long"])]
    pub(crate) dry_run: bool,
    /// With --dry-run: plan for a recorded machine
    #[arg(long, value_name = "DIR|TARBALL", requires_all = ["across_reboot", "dry_run"])]
    pub(crate) sysroot: Option<PathBuf>,
    /// A folder that stands for / where the boot is read, for tests; it is always settled
    #[arg(long, value_name = "DIR", hide = true, requires = "state")]
    pub(crate) tree: Option<PathBuf>,
    /// Nobody is there: what systemd says
    #[arg(long, hide = true, requires = "resume")]
    pub(crate) unattended: bool,
    /// The folder of systemd's units, for tests
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) unit_folder: Option<PathBuf>,
}

impl AcrossRebootArguments {
    /// True if an experiment that is set up already is meant.
    pub(crate) fn is_action(&self) -> bool {
        self.resume || self.status || self.abandon || self.install_unit || self.remove_unit
    }

    /// True if any of this is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.across_reboot || self.is_action()
    }
}

fn parse_count(text: &str, least: usize, most: usize) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|count| (least..=most).contains(count))
        .ok_or_else(|| format!("give a number from {least} to {most}"))
}
