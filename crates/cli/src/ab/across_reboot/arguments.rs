//! What `sidestep ab --across-reboot` takes on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use experiments::ab::across_reboot::plan::{FEWEST_TRIALS, MOST_BOOTS, MOST_TRIALS};

use crate::arguments::parse_budget;

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
    #[arg(long, value_name = "N", value_parser = parse_boots, requires = "across_reboot")]
    pub(crate) boots: Option<usize>,
    /// Trials in each boot [default: 5 of a program, 20 of probes]
    #[arg(long, value_name = "N", value_parser = parse_trials, requires = "across_reboot")]
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

fn parse_boots(text: &str) -> Result<usize, String> {
    parse_count(text, 1, MOST_BOOTS)
}

fn parse_trials(text: &str) -> Result<usize, String> {
    parse_count(text, FEWEST_TRIALS, MOST_TRIALS)
}

fn parse_count(text: &str, least: usize, most: usize) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|count| (least..=most).contains(count))
        .ok_or_else(|| format!("give a number from {least} to {most}"))
}
