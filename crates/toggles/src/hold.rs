//! An experiment on this machine with everything that keeps it safe: the lock, the journal, and a watchdog.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::live::{Watch, Watchdog, effective_root, process_start_ticks, utc_now, watch};
use host::state_folder::user_state;
use host::{Lock, LockError, MachineWriter, Root, RootError, StateFolder};

use crate::affinity::put_back;
use crate::experiment::{Experiment, ExperimentError, Intent, settle};
use crate::journal::{self, Owner};
use crate::pinning::{PinError, PinIntent, Pinning};
use crate::restore::Restored;
use crate::toggle::Change;

/// Where experiments happen: this machine, or a recorded tree with a state folder of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder of lock and journal.
    pub state: PathBuf,
    /// The tree that stands for `/`; `None` is this machine.
    pub tree: Option<PathBuf>,
}

impl Place {
    /// This machine.
    pub fn live() -> Self {
        Self { state: PathBuf::from(host::state_folder::LIVE_STATE), tree: None }
    }

    /// Where what belongs to this user is journalled: the machine's place for root, else a folder of the user's own (`XDG_STATE_HOME`,
    /// or `.local/state` at home), as no privilege is needed to pin one's own threads.
    pub fn of_user() -> Self {
        if effective_root() {
            return Self::live();
        }
        user_state().map_or_else(Self::live, |state| Self { state, tree: None })
    }

    /// What is written through.
    pub fn writer(&self) -> MachineWriter {
        self.tree.as_deref().map_or_else(MachineWriter::live, MachineWriter::tree)
    }

    /// Where lock and journal are.
    pub fn folder(&self) -> StateFolder {
        StateFolder::new(&self.state)
    }

    /// What is read.
    ///
    /// # Errors
    /// A tree that is no machine.
    pub fn root(&self) -> Result<Root, RootError> {
        self.tree.as_deref().map_or_else(|| Ok(Root::live()), Root::open)
    }

    /// The boot of this place: a journal of another one is void.
    ///
    /// # Errors
    /// A tree that is no machine.
    pub fn boot_id(&self) -> Result<String, RootError> {
        let root = self.root()?;
        // Without the file boots cannot be distinguished; all then count as this one, which is the safe side.
        Ok(root.read("/proc/sys/kernel/random/boot_id").unwrap_or_default())
    }

    /// This process as the owner of a journal here.
    ///
    /// # Errors
    /// A tree that is no machine.
    pub fn owner(&self) -> Result<Owner, RootError> {
        let pid = std::process::id();
        let start_ticks = process_start_ticks(pid).unwrap_or(0);
        Ok(Owner { boot_id: self.boot_id()?, pid, start_ticks })
    }
}

/// Why nothing is held.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Another experiment runs, or the state folder cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The tree is no machine.
    #[error(transparent)]
    Tree(#[from] RootError),
    /// The experiment could not begin.
    #[error("{0}")]
    Experiment(#[from] ExperimentError),
    /// Nothing would put the machine back after a crash, so nothing was changed.
    #[error("cannot start the watchdog: {0}; nothing was changed")]
    Watchdog(#[source] io::Error),
}

/// The lock, and the watchdog that puts back what a killed sidestep leaves.
#[derive(Debug)]
struct Keeper {
    watchdog: Option<Watchdog>,
    _lock: Lock,
}

impl Keeper {
    fn start(place: &Place, owner: &Owner, deadline: Duration, lock: Lock) -> Result<Self, HoldError> {
        lock.tell(deadline);
        let arguments = watch_arguments(place, owner, deadline);
        let watchdog = Watchdog::start(&arguments).map_err(HoldError::Watchdog)?;
        Ok(Self { watchdog: Some(watchdog), _lock: lock })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
    }
}

/// A running experiment. However it ends, the machine is put back: by [`Hold::end`], by dropping this, by the watchdog
/// after a crash, and if that was killed too, by `sidestep toggles revert`.
#[derive(Debug)]
pub struct Hold {
    // In this order: the machine is put back, then the watchdog dismissed, then the lock given up.
    experiment: Experiment<MachineWriter, StateFolder>,
    _keeper: Keeper,
}

impl Hold {
    /// Takes the lock, starts the watchdog, reads what is there, and journals it. Nothing is changed yet.
    ///
    /// The watchdog is this program started anew with `toggles watch`; after `deadline` it ends the experiment.
    ///
    /// # Errors
    /// Another experiment, a journal that was left, or no watchdog.
    pub fn begin(place: &Place, intent: &Intent, deadline: Duration) -> Result<Self, HoldError> {
        let lock = place.folder().try_lock()?;
        let owner = place.owner()?;
        // First the watchdog: then no moment is left in which a journal lies there and nobody watches.
        let keeper = Keeper::start(place, &owner, deadline, lock)?;
        let experiment = Experiment::begin(place.writer(), place.folder(), owner, intent, utc_now())?;
        Ok(Self { experiment, _keeper: keeper })
    }

    /// Makes changes that the intent named, and reads each back.
    ///
    /// # Errors
    /// A write that fails or is not taken, or a foreign change; everything is put back then.
    pub fn switch(&mut self, changes: &[Change]) -> Result<(), ExperimentError> {
        self.experiment.switch(changes)
    }

    /// Puts everything back, and tells what became of each value.
    pub fn end(self) -> Vec<Restored> {
        self.experiment.end()
    }
}

/// A process tree that is pinned on this machine.
pub type PinnedTree = Pinning<MachineWriter, StateFolder>;

/// The lock and the watchdog for process trees that are pinned one after the other; the trees go first.
#[derive(Debug)]
pub struct PinHold {
    place: Place,
    owner: Owner,
    _keeper: Keeper,
}

impl PinHold {
    /// Takes the lock and starts the watchdog, which sets the tree free that a killed sidestep leaves pinned, or that is pinned
    /// after `deadline`. Nothing is pinned yet.
    ///
    /// # Errors
    /// Another experiment, or no watchdog.
    pub fn ready(place: &Place, deadline: Duration) -> Result<Self, HoldError> {
        let lock = place.folder().try_lock()?;
        let owner = place.owner()?;
        let keeper = Keeper::start(place, &owner, deadline, lock)?;
        Ok(Self { place: place.clone(), owner, _keeper: keeper })
    }

    /// Reads what a tree may use, and journals it.
    ///
    /// # Errors
    /// A journal that was left, a process that ended, or a disk that does not keep the journal.
    pub fn begin(&self, intent: &PinIntent) -> Result<PinnedTree, PinError> {
        Pinning::begin(self.place.writer(), self.place.folder(), self.owner.clone(), intent, utc_now())
    }
}

fn watch_arguments(place: &Place, owner: &Owner, deadline: Duration) -> Vec<OsString> {
    let text = |text: &str| OsString::from(text);
    let mut arguments = vec![text("toggles"), text("watch")];
    arguments.extend([text("--state"), absolute(&place.state).into_os_string()]);
    if let Some(tree) = &place.tree {
        arguments.extend([text("--tree"), absolute(tree).into_os_string()]);
    }
    arguments.extend([text("--owner"), text(&owner.pid.to_string())]);
    arguments.extend([text("--start-ticks"), text(&owner.start_ticks.to_string())]);
    arguments.extend([text("--deadline-ms"), text(&deadline.as_millis().to_string())]);
    arguments
}

/// The watchdog works in `/`.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The watchdog: waits for the end of its parent, and puts back what that left in the journal.
///
/// # Errors
/// What kept it from watching; the experiment has not begun then.
pub fn stand_watch(place: &Place, pid: u32, start_ticks: u64, deadline: Duration) -> Result<(), HoldError> {
    if watch(deadline).map_err(HoldError::Watchdog)? == Watch::Dismissed {
        return Ok(());
    }
    // The parent's lock ended with it; somebody may already be mending, and is waited for.
    let _lock = place.folder().lock()?;
    let mut folder = place.folder();
    let unkept = |error| HoldError::Experiment(ExperimentError::Journal(error));
    journal::clear_unfinished(&mut folder).map_err(unkept)?;
    let found = journal::load(&mut folder).map_err(unkept)?;
    if let Some(Ok(journal)) = found
        && (journal.owner.pid, journal.owner.start_ticks) == (pid, start_ticks)
    {
        let results = put_back(&mut place.writer(), &journal, false);
        settle(&mut folder, &journal, &results).map_err(unkept)?;
    }
    Ok(())
}
