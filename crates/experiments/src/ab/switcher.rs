//! Makes a state hold around a trial, and takes it back: settings of a thread or child, or writes of the engine.

use std::thread;
use std::time::Duration;

use host::live::{PageRequest, ProcessSetting, SettingError, SettingGuard};
use stats::Arm;
use toggles::{Change, ExperimentError, Hold, HoldError, Intent, Pair, Place, Position, Restored, Switch};

/// The watchdog gives this much time beyond the budget.
const DEADLINE_SLACK: Duration = Duration::from_secs(60);

/// Why a state could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SwitchingError {
    /// The lock, the journal or the watchdog.
    #[error(transparent)]
    Hold(#[from] HoldError),
    /// A write.
    #[error(transparent)]
    Write(#[from] ExperimentError),
    /// A setting of this thread.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Switches between the two states of a pair.
#[derive(Debug)]
pub struct Switcher {
    switches: [Switch; 2],
    settle: Duration,
    hold: Option<Hold>,
    now: Option<Arm>,
}

impl Switcher {
    /// Gets ready: for a system toggle the lock, the journal and the watchdog, which ends the experiment after `budget`.
    /// Nothing is changed yet.
    ///
    /// # Errors
    /// Another experiment, a journal that was left, or no watchdog.
    pub fn new(pair: &Pair, label: &str, budget: Duration) -> Result<Self, SwitchingError> {
        let switches = [pair.switch(Position::A).clone(), pair.switch(Position::B).clone()];
        let hold = match &switches {
            [Switch::System(a), Switch::System(b)] => {
                let intent = Intent { label, states: &[a, b], kept: false };
                Some(Hold::begin(&Place::live(), &intent, budget + DEADLINE_SLACK)?)
            }
            _ => None,
        };
        Ok(Self { switches, settle: pair.toggle.about().settle, hold, now: None })
    }

    /// Nothing is ever switched: for two programs.
    pub fn none() -> Self {
        let nothing = || Switch::Process(Vec::new());
        Self { switches: [nothing(), nothing()], settle: Duration::ZERO, hold: None, now: None }
    }

    /// How long the machine is left alone after a switch.
    pub fn settle(&self) -> Duration {
        self.settle
    }

    /// True if states are writes to the machine.
    pub fn is_system(&self) -> bool {
        self.hold.is_some()
    }

    fn switch(&self, state: Arm) -> &Switch {
        &self.switches[usize::from(state == Arm::B)]
    }

    /// The settings of a thread or child that make the state; none for the other kinds.
    pub fn settings(&self, state: Arm) -> &[ProcessSetting] {
        match self.switch(state) {
            Switch::Process(settings) => settings,
            Switch::Buffers(_) | Switch::System(_) => &[],
        }
    }

    /// The pages that the state asks for; `otherwise` if it has no say in that.
    pub fn pages(&self, state: Arm, otherwise: PageRequest) -> PageRequest {
        match self.switch(state) {
            Switch::Buffers(pages) => *pages,
            Switch::Process(_) | Switch::System(_) => otherwise,
        }
    }

    /// Writes what the state needs, if it does not hold already, reads it back, and lets the machine settle.
    ///
    /// # Errors
    /// A write that fails or is not taken, or a foreign change; everything is put back then.
    pub fn write(&mut self, state: Arm) -> Result<(), SwitchingError> {
        let Some(hold) = &mut self.hold else { return Ok(()) };
        let changes: &[Change] = match &self.switches[usize::from(state == Arm::B)] {
            Switch::System(changes) => changes,
            Switch::Process(_) | Switch::Buffers(_) => &[],
        };
        // Also when it holds: the engine reads first, and so sees a foreign change.
        hold.switch(changes)?;
        if self.now != Some(state) && !self.settle.is_zero() {
            thread::sleep(self.settle);
        }
        self.now = Some(state);
        Ok(())
    }

    /// Makes the state hold for the calling thread until the guard is dropped; writes last until the next.
    ///
    /// # Errors
    /// As for [`Switcher::write`], or a setting that the kernel refuses.
    pub fn make(&mut self, state: Arm) -> Result<SettingGuard, SwitchingError> {
        self.write(state)?;
        Ok(SettingGuard::make(self.settings(state))?)
    }

    /// Puts everything back, and tells what became of each value.
    pub fn end(&mut self) -> Vec<Restored> {
        self.now = None;
        self.hold.take().map(Hold::end).unwrap_or_default()
    }
}
