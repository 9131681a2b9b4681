//! Makes a state hold around a trial, and takes it back: settings of a thread or child, or writes of the engine.

use std::thread;
use std::time::Duration;

use host::live::{PageRequest, ProcessSetting, SettingError, SettingGuard};
use stats::{Arm, Cell};
use toggles::{Change, ExperimentError, Hold, HoldError, Intent, Pair, Place, Position, Restored, Switch};

/// The watchdog gives this much time beyond the budget.
const DEADLINE_SLACK: Duration = Duration::from_secs(60);

/// Why a state could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SwitchingError {
    /// The lock, the journal or the watchdog.
    #[error("{0}")]
    Hold(#[from] HoldError),
    /// A write.
    #[error("{0}")]
    Write(#[from] ExperimentError),
    /// A setting of this thread.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// One toggle's part in it.
#[derive(Debug)]
struct Switched {
    switches: [Switch; 2],
    settle: Duration,
}

impl Switched {
    fn switch(&self, state: Arm) -> &Switch {
        &self.switches[usize::from(state == Arm::B)]
    }

    fn is_system(&self) -> bool {
        matches!(self.switches[0], Switch::System(_))
    }
}

/// Switches between the states of one toggle, or between all combinations of several.
#[derive(Debug)]
pub struct Switcher {
    toggles: Vec<Switched>,
    hold: Option<Hold>,
    now: Option<Cell>,
}

impl Switcher {
    /// Gets ready: for system toggles the lock, one journal and the watchdog, which ends the experiment after `budget`.
    /// Nothing is changed yet.
    ///
    /// # Errors
    /// Another experiment, a journal that was left, or no watchdog.
    pub fn new(pairs: &[Pair], budget: Duration) -> Result<Self, SwitchingError> {
        let switched = |pair: &Pair| Switched {
            switches: [Position::A, Position::B].map(|position| pair.switch(position).clone()),
            settle: pair.toggle.about().settle,
        };
        let toggles: Vec<Switched> = pairs.iter().map(switched).collect();
        let of_system = |switch: &Switch| match switch {
            Switch::System(changes) => Some(changes.clone()),
            Switch::Process(_) | Switch::Buffers(_) => None,
        };
        let states: Vec<Vec<Change>> =
            toggles.iter().flat_map(|toggle| &toggle.switches).filter_map(of_system).collect();
        let states: Vec<&[Change]> = states.iter().map(Vec::as_slice).collect();
        let label = pairs.iter().map(|pair| format!("{pair:?}")).collect::<Vec<_>>().join(", ");
        let intent = Intent { label: &label, states: &states, kept: false };
        let hold = if states.is_empty() {
            None
        } else {
            Some(Hold::begin(&Place::live(), &intent, budget + DEADLINE_SLACK)?)
        };
        Ok(Self { toggles, hold, now: None })
    }

    /// Nothing is ever switched: for two programs.
    pub fn none() -> Self {
        Self { toggles: Vec::new(), hold: None, now: None }
    }

    /// How long the machine is left alone after a switch.
    pub fn settle(&self) -> Duration {
        self.toggles.iter().map(|toggle| toggle.settle).max().unwrap_or_default()
    }

    /// True if states are writes to the machine.
    pub fn is_system(&self) -> bool {
        self.hold.is_some()
    }

    fn switches(&self, state: Cell) -> impl Iterator<Item = &Switch> {
        self.toggles.iter().enumerate().map(move |(factor, toggle)| toggle.switch(state.arm(factor)))
    }

    /// The settings of a thread or child that make the state; none for the other kinds.
    pub fn settings(&self, state: Cell) -> Vec<ProcessSetting> {
        let of_process = |switch: &Switch| match switch {
            Switch::Process(settings) => settings.clone(),
            Switch::Buffers(_) | Switch::System(_) => Vec::new(),
        };
        self.switches(state).flat_map(of_process).collect()
    }

    /// The pages that the state asks for; `otherwise` if it has no say in that.
    pub fn pages(&self, state: Cell, otherwise: PageRequest) -> PageRequest {
        let asked = |switch: &Switch| match switch {
            Switch::Buffers(pages) => Some(*pages),
            Switch::Process(_) | Switch::System(_) => None,
        };
        self.switches(state).find_map(asked).unwrap_or(otherwise)
    }

    /// Writes what the state needs, if it does not hold already, reads it back, and lets the machine settle.
    ///
    /// # Errors
    /// A write that fails or is not taken, or a foreign change; everything is put back then.
    pub fn write(&mut self, state: Cell) -> Result<(), SwitchingError> {
        let changes = self.changes(state);
        let Some(hold) = &mut self.hold else { return Ok(()) };
        // Also when it holds: the engine reads first, and so sees a foreign change.
        hold.switch(&changes)?;
        let settle = self.settle_after(state);
        if !settle.is_zero() {
            thread::sleep(settle);
        }
        self.now = Some(state);
        Ok(())
    }

    fn changes(&self, state: Cell) -> Vec<Change> {
        let of_system = |switch: &Switch| match switch {
            Switch::System(changes) => changes.clone(),
            Switch::Process(_) | Switch::Buffers(_) => Vec::new(),
        };
        self.switches(state).flat_map(of_system).collect()
    }

    /// What the slowest of the writes asks for that the state before did not have.
    fn settle_after(&self, state: Cell) -> Duration {
        let changed = |factor: usize| self.now.is_none_or(|now| now.arm(factor) != state.arm(factor));
        let toggles = self.toggles.iter().enumerate();
        let written = toggles.filter(|(factor, toggle)| toggle.is_system() && changed(*factor));
        written.map(|(_, toggle)| toggle.settle).max().unwrap_or_default()
    }

    /// Makes the state hold for the calling thread until the guard is dropped; writes last until the next. Settings that
    /// only a new program reads are left out, as no thread can have them.
    ///
    /// # Errors
    /// As for [`Switcher::write`], or a setting that the kernel refuses.
    pub fn make(&mut self, state: Cell) -> Result<SettingGuard, SwitchingError> {
        self.write(state)?;
        let mut settings = self.settings(state);
        settings.retain(ProcessSetting::fits_a_thread);
        Ok(SettingGuard::make(&settings)?)
    }

    /// Puts everything back, and tells what became of each value.
    pub fn end(&mut self) -> Vec<Restored> {
        self.now = None;
        self.hold.take().map(Hold::end).unwrap_or_default()
    }
}
