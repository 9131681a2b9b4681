//! What a user can type after `sidestep toggles`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use toggles::{Consent, Place};

use crate::forms::Forms;
use crate::option_values::parse_budget;

/// Options of `toggles`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ToggleArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ToggleCommand>,
    /// Read a recorded machine: a directory or tarball with proc/ and sys/
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) sysroot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// What to do.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ToggleCommand {
    /// What can be switched here, and why the rest cannot (the default)
    List {
        /// Read a recorded machine: a directory or tarball with proc/ and sys/
        #[arg(long, value_name = "DIR|TARBALL")]
        sysroot: Option<PathBuf>,
        #[command(flatten)]
        forms: Forms,
    },
    /// What one toggle does, needs and risks
    Show {
        /// Its name, as in the list
        name: String,
        /// Read a recorded machine: a directory or tarball with proc/ and sys/
        #[arg(long, value_name = "DIR|TARBALL")]
        sysroot: Option<PathBuf>,
        #[command(flatten)]
        forms: Forms,
    },
    /// Switch until `revert`, or for a time
    Set(SetArguments),
    /// Put back what was set, or what a crash left
    Revert(RevertArguments),
    /// Whether anything is switched now, and by whom
    Status {
        #[command(flatten)]
        place: StateArguments,
    },
    /// The process that puts things back after a crash
    #[command(hide = true)]
    Watch(WatchdogArguments),
    /// Switches a recorded tree to and fro until killed
    #[command(hide = true)]
    Rehearse(RehearseArguments),
}

/// Options of `set`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SetArguments {
    /// What to switch, such as thp-system=never
    #[arg(required = true, value_name = "NAME=VALUE")]
    pub(crate) switches: Vec<String>,
    /// Put everything back after this time, such as 30s or 5m, or at Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = parse_budget)]
    pub(crate) duration: Option<Duration>,
    /// Print the exact writes and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    #[command(flatten)]
    pub(crate) place: StateArguments,
}

/// What the user agrees to.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ConsentArguments {
    /// Accept what is put back only in part (S1D): affinities of tasks and interrupts
    #[arg(long)]
    disruptive: bool,
    /// Accept an open vulnerability while the switch lasts (S2)
    #[arg(long)]
    lower_security: bool,
    /// Accept wrong results while the switch lasts (S3)
    #[arg(long)]
    accept_data_corruption: bool,
}

impl From<ConsentArguments> for Consent {
    fn from(arguments: ConsentArguments) -> Self {
        Self {
            disruptive: arguments.disruptive,
            lower_security: arguments.lower_security,
            data_corruption: arguments.accept_data_corruption,
        }
    }
}

/// Options of `revert`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RevertArguments {
    /// Overwrite what somebody else wrote meanwhile
    #[arg(long)]
    pub(crate) force: bool,
    /// Leave what somebody else wrote, and forget the journal, also a damaged one
    #[arg(long, conflicts_with = "force")]
    pub(crate) forget: bool,
    /// Print the exact writes and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: StateArguments,
}

/// Where it happens: for rehearsals on a recorded tree.
#[derive(Debug, Clone, Args)]
pub(crate) struct StateArguments {
    /// A folder that stands for /
    #[arg(long, value_name = "DIR", requires = "state", hide = true)]
    tree: Option<PathBuf>,
    /// The folder of lock and journal
    #[arg(long, value_name = "DIR", hide = true)]
    state: Option<PathBuf>,
}

impl StateArguments {
    /// The live machine, unless a state folder is given, or a tree and its state folder.
    pub(crate) fn place(&self) -> Place {
        self.recorded().unwrap_or_else(Place::live)
    }

    /// The same for what was left behind: of a user who is not root, only pins of his own threads can be.
    pub(crate) fn of_user(&self) -> Place {
        self.recorded().unwrap_or_else(Place::of_user)
    }

    fn recorded(&self) -> Option<Place> {
        Some(Place { state: self.state.clone()?, tree: self.tree.clone() })
    }
}

/// Options of the watchdog.
#[derive(Debug, Clone, Args)]
pub(crate) struct WatchdogArguments {
    /// The folder of lock and journal
    #[arg(long)]
    pub(crate) state: PathBuf,
    /// A folder that stands for /
    #[arg(long)]
    pub(crate) tree: Option<PathBuf>,
    /// The process that is watched
    #[arg(long)]
    pub(crate) owner: u32,
    /// When it started, in clock ticks since boot
    #[arg(long)]
    pub(crate) start_ticks: u64,
    /// When it has to be done
    #[arg(long)]
    pub(crate) deadline_ms: u64,
}

/// Options of a rehearsal.
#[derive(Debug, Clone, Args)]
pub(crate) struct RehearseArguments {
    /// What to switch, such as thp-system=madvise:never; put back what was set, if nothing is named
    #[arg(value_name = "NAME=A:B")]
    pub(crate) switches: Vec<String>,
    /// A folder that stands for /
    #[arg(long)]
    pub(crate) tree: PathBuf,
    /// The folder of lock and journal
    #[arg(long)]
    pub(crate) state: PathBuf,
}
