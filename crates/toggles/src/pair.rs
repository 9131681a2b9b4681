//! The two states of an experiment: one toggle, value A and value B, and how to switch to each.

use stats::Arm;

use crate::{Change, Consent, Refusal, Switch, SwitchError, SystemState, Toggle, UnknownToggle, Value, find};

/// A toggle with two of its values.
#[derive(Clone)]
pub struct Pair {
    /// The toggle.
    pub toggle: &'static dyn Toggle,
    /// The baseline, and what it is compared with.
    pub values: [Value; 2],
    /// How to switch to each of them.
    pub switches: [Switch; 2],
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b] = &self.values;
        write!(f, "{} {}:{}", self.toggle.about().name, a.name, b.name)
    }
}

/// Why there is no such pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// No such toggle.
    #[error(transparent)]
    Unknown(#[from] UnknownToggle),
    /// No such value, or not available here.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// Both values are the same.
    #[error("{toggle} is {value} in both states; name another value: {toggle}={choices}")]
    Same {
        /// The toggle.
        toggle: &'static str,
        /// The value.
        value: String,
        /// What else there is.
        choices: String,
    },
}

impl Pair {
    /// Reads `NAME` (the toggle's own pair), `NAME=B` (from what holds now to B) or `NAME=A:B`.
    ///
    /// # Errors
    /// An unknown name or value, a toggle that is not available here, or two equal values.
    pub fn parse(text: &str, system: &SystemState) -> Result<Self, PairError> {
        let (name, values) = match text.split_once('=') {
            Some((name, values)) => (name, Some(values)),
            None => (text, None),
        };
        let toggle = find(name)?;
        let (a, b) = match values.map(|values| values.split_once(':').ok_or(values)) {
            Some(Ok((a, b))) => (a.to_owned(), b.to_owned()),
            Some(Err(b)) => {
                let now = toggle.now(system).or_else(|| toggle.default_values(system).map(|(a, _)| a));
                (now.unwrap_or_default(), b.to_owned())
            }
            None => toggle.default_values(system).unwrap_or_default(),
        };
        // The second value first: what the user named is what an error should be about.
        let b = toggle.value(system, &b)?;
        let a = toggle.value(system, &a)?;
        if a.name == b.name {
            let others = toggle.values(system).into_iter().map(|value| value.name);
            let choices: Vec<String> = others.filter(|name| *name != b.name).collect();
            let toggle = toggle.about().name;
            return Err(PairError::Same { toggle, value: b.name, choices: choices.join("|") });
        }
        let switches = [toggle.switch(system, &a.name)?, toggle.switch(system, &b.name)?];
        Ok(Self { toggle, values: [a, b], switches })
    }

    /// The value of a state.
    pub fn value(&self, arm: Arm) -> &Value {
        &self.values[arm as usize]
    }

    /// How to switch to a state.
    pub fn switch(&self, arm: Arm) -> &Switch {
        &self.switches[arm as usize]
    }

    /// What a state is called: `ssbd=on`.
    pub fn state_name(&self, arm: Arm) -> String {
        format!("{}={}", self.toggle.about().name, self.value(arm).name)
    }

    /// The writes of a state; none if it is no state of the machine.
    pub fn changes(&self, arm: Arm) -> &[Change] {
        match self.switch(arm) {
            Switch::System(changes) => changes,
            Switch::Process(_) | Switch::Buffers(_) => &[],
        }
    }

    /// The writes of each state of the machine.
    pub fn written(&self) -> impl Iterator<Item = &[Change]> {
        [Arm::A, Arm::B].into_iter().map(|arm| self.changes(arm)).filter(|changes| !changes.is_empty())
    }

    /// Whether the user has agreed to both states; the one that holds now needs no consent.
    ///
    /// # Errors
    /// The refusal, with the flag that lifts it.
    pub fn allowed_by(&self, consent: &Consent, system: &SystemState) -> Result<(), Refusal> {
        let about = self.toggle.about();
        let now = self.toggle.now(system);
        let mut values = self.values.iter().filter(|value| now.as_ref() != Some(&value.name));
        values.try_for_each(|value| consent.allows(about.name, value.risk, about.opens))
    }
}
