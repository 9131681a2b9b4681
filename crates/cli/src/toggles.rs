//! `sidestep toggles`: what can be switched here, switching it, and always putting it back.

mod set;
mod state;

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use host::{Cpuid, Root};
use machine::Machine;
use report::{ToggleState, ToggleValue};
use serde_json::json;
use stats::Arm;
use toggles::{
    About, Availability, Change, Consent, Hold, Intent, Lifetime, Pair, Place, Risk, SystemState, Toggle,
    catalogue, find, stand_watch,
};

use crate::forms::Forms;
use crate::options::{Global, parse_budget};
use crate::outcome::Outcome;
pub(crate) use state::{after_error, left_changed, mention_what_was_left, offer_to_mend};

/// Version of the JSON documents of this command.
const SCHEMA: u32 = 1;

/// Options of `toggles`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToggleArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ToggleCommand>,
    /// Read a recorded machine: a directory or tarball with proc/ and sys/
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) sysroot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ToggleCommand {
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
    #[command(flatten)]
    place: StateArguments,
    /// The process that is watched
    #[arg(long)]
    owner: u32,
    /// When it started, in clock ticks since boot
    #[arg(long)]
    start_ticks: u64,
    /// When it has to be done
    #[arg(long)]
    deadline_ms: u64,
}

/// Options of a rehearsal.
#[derive(Debug, Clone, Args)]
pub(crate) struct RehearseArguments {
    /// What to switch, such as thp-system=madvise:never
    #[arg(required = true, value_name = "NAME=A:B")]
    switches: Vec<String>,
    #[command(flatten)]
    place: StateArguments,
}

/// Does what was asked for.
pub(crate) fn toggles(arguments: &ToggleArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        None => list(arguments.sysroot.as_deref(), &arguments.forms, global),
        Some(ToggleCommand::Show { name, sysroot, forms }) => show(name, sysroot.as_deref(), forms, global),
        Some(ToggleCommand::Set(arguments)) => set::set(arguments, global),
        Some(ToggleCommand::Revert(arguments)) => state::revert(arguments, global),
        Some(ToggleCommand::Status { place }) => state::status(place, global),
        Some(ToggleCommand::Watch(arguments)) => watch(arguments),
        Some(ToggleCommand::Rehearse(arguments)) => rehearse(arguments),
    }
}

/// A machine and its files.
pub(crate) struct Described {
    pub(crate) root: Root,
    pub(crate) machine: Machine,
}

impl Described {
    /// The live machine, or a recorded one.
    pub(crate) fn open(sysroot: Option<&Path>) -> anyhow::Result<Self> {
        let root = sysroot.map_or_else(|| Ok(Root::live()), Root::open)?;
        let cpuid = if root.is_live() { Cpuid::live() } else { None };
        let machine = host::describe(&root, cpuid.as_ref());
        Ok(Self { root, machine })
    }

    /// What toggles are judged against.
    pub(crate) fn system_state(&self) -> SystemState<'_> {
        SystemState::of(&self.root, &self.machine)
    }
}

fn list(sysroot: Option<&Path>, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let described = Described::open(sysroot)?;
    let system = described.system_state();
    let states: Vec<ToggleState> = catalogue().iter().map(|toggle| toggle_state(*toggle, &system)).collect();
    let document = json!({ "schema": SCHEMA, "toggles": states });
    forms.print(&report::toggles_page(&states), &document, global)?;
    Ok(Outcome::Done)
}

fn show(name: &str, sysroot: Option<&Path>, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let toggle = find(name)?;
    let described = Described::open(sysroot)?;
    let state = toggle_state(toggle, &described.system_state());
    let document = json!({ "schema": SCHEMA, "toggle": state });
    forms.print(&report::toggle_page(&state), &document, global)?;
    Ok(Outcome::Done)
}

/// One toggle.
fn toggle_state(toggle: &dyn Toggle, system: &SystemState) -> ToggleState {
    let About { name, title, does, needs, risk, opens, lifetime, settle, source, x86_only: _ } =
        *toggle.about();
    let (availability, reason, remedy) = match toggle.availability(system) {
        Availability::Available => ("available", None, None),
        Availability::Missing { reason, remedy } => ("missing", Some(reason), Some(remedy)),
        Availability::Unknown { reason } => ("unknown", Some(reason), None),
    };
    let values = toggle.values(system).into_iter();
    let values =
        values.map(|value| ToggleValue { name: value.name, means: value.means, class: value.risk.class() });
    ToggleState {
        name,
        title,
        does,
        needs,
        class: risk.class(),
        class_means: risk.meaning(),
        opens,
        lifetime: lifetime.name(),
        settle_s: settle.as_secs_f64(),
        source,
        now: toggle.now(system),
        settable: is_settable(toggle),
        availability,
        reason,
        remedy,
        values: values.collect(),
    }
}

/// True if `toggles set` can switch it: what ends with a process is switched for programs and probes only, what cannot be
/// taken back never.
fn is_settable(toggle: &dyn Toggle) -> bool {
    let About { lifetime, risk, .. } = toggle.about();
    *lifetime != Lifetime::Process && *risk != Risk::OneWay
}

/// A rehearsal that nobody kills ends by itself.
const TRIAL: Duration = Duration::from_secs(600);

/// Switches of one experiment: enough that most of its time is spent switched.
const FLIPS: usize = 41;

/// Waits for the end of the parent, and puts back what it left.
fn watch(arguments: &WatchdogArguments) -> anyhow::Result<Outcome> {
    let place = arguments.place.place();
    let deadline = Duration::from_millis(arguments.deadline_ms);
    stand_watch(&place, arguments.owner, arguments.start_ticks, deadline)?;
    Ok(Outcome::Done)
}

/// Begins, switches to and fro, and ends, again and again, and says before and after each step what it does.
fn rehearse(arguments: &RehearseArguments) -> anyhow::Result<Outcome> {
    let place = arguments.place.place();
    anyhow::ensure!(place.tree.is_some(), "a rehearsal takes a recorded tree; name one with --tree");
    loop {
        let described = Described::open(place.tree.as_deref())?;
        let mut states: [Vec<Change>; 2] = Default::default();
        for text in &arguments.switches {
            let pair = Pair::parse(text, &described.system_state())?;
            anyhow::ensure!(pair.written().count() > 0, "{text} is not of the machine; name a system toggle");
            for (arm, state) in [Arm::A, Arm::B].into_iter().zip(&mut states) {
                state.extend_from_slice(pair.changes(arm));
            }
        }
        let [a, b] = &states;
        let label = arguments.switches.join(" ");
        let intent = Intent { label: &label, states: &[a, b], kept: false };
        say("begin")?;
        let mut hold = Hold::begin(&place, &intent, TRIAL)?;
        say("journalled")?;
        for state in [b, a].into_iter().cycle().take(FLIPS) {
            hold.switch(state)?;
            say("switched")?;
        }
        hold.end();
        say("ended")?;
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
