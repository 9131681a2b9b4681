//! Makes a state hold around a trial, and takes it back: settings of a thread or child, or writes of the engine.

use std::thread;
use std::time::Duration;

use host::live::{PageRequest, ProcessSetting, SettingError, SettingGuard};
use stats::Cell;
use toggles::{Change, ExperimentError, Hold, HoldError, Intent, Pair, Place, Restored, Switch};

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

/// Switches between the states of one toggle, or between all combinations of several.
#[derive(Debug)]
pub struct Switcher {
    pairs: Vec<Pair>,
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
        let states: Vec<&[Change]> = pairs.iter().flat_map(Pair::written).collect();
        let label = pairs.iter().map(|pair| format!("{pair:?}")).collect::<Vec<_>>().join(", ");
        let intent = Intent { label: &label, states: &states, kept: false };
        let hold = if states.is_empty() {
            None
        } else {
            Some(Hold::begin(&Place::live(), &intent, budget + DEADLINE_SLACK)?)
        };
        Ok(Self { pairs: pairs.to_vec(), hold, now: None })
    }

    /// Nothing is ever switched: for two programs.
    pub fn none() -> Self {
        Self { pairs: Vec::new(), hold: None, now: None }
    }

    /// How long the machine is left alone after a switch.
    pub fn settle(&self) -> Duration {
        self.pairs.iter().map(|pair| pair.toggle.about().settle).max().unwrap_or_default()
    }

    /// True if states are writes to the machine.
    pub fn is_system(&self) -> bool {
        self.hold.is_some()
    }

    fn switches(&self, state: Cell) -> impl Iterator<Item = &Switch> {
        self.pairs.iter().enumerate().map(move |(factor, pair)| pair.switch(state.arm(factor)))
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
        let of_pair = |(factor, pair): (usize, &Pair)| pair.changes(state.arm(factor)).to_vec();
        self.pairs.iter().enumerate().flat_map(of_pair).collect()
    }

    /// What the slowest of the writes asks for that the state before did not have.
    fn settle_after(&self, state: Cell) -> Duration {
        let changed = |factor: usize| self.now.is_none_or(|now| now.arm(factor) != state.arm(factor));
        let written = self
            .pairs
            .iter()
            .enumerate()
            .filter(|(factor, pair)| pair.written().count() > 0 && changed(*factor));
        written.map(|(_, pair)| pair.toggle.about().settle).max().unwrap_or_default()
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
