//! Toggles that end with a thread or process: no privilege, no journal.

use host::live::{PageRequest, ProcessSetting};

use crate::{About, Availability, Switch, SwitchError, SystemState, Toggle, User, Value};

/// What a value of a process toggle asks for.
#[derive(Debug, Clone, Copy)]
enum Asks {
    /// Nothing: it leaves everything as it is.
    Nothing,
    /// A setting of a thread or child.
    Setting(fn(&SystemState) -> ProcessSetting),
    /// Pages of a probe's buffers.
    Pages(PageRequest),
}

/// One value of a process toggle.
pub(crate) struct Choice {
    /// What the user types.
    name: &'static str,
    /// What it means.
    means: &'static str,
    /// What it asks for on a machine.
    asks: Asks,
}

impl Choice {
    /// A value that asks for nothing.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { name, means: "", asks: Asks::Nothing }
    }

    /// The same with what it means.
    pub(crate) const fn means(self, means: &'static str) -> Self {
        Self { means, ..self }
    }

    /// The same with a setting of a thread or child.
    pub(crate) const fn asks(self, setting: fn(&SystemState) -> ProcessSetting) -> Self {
        Self { asks: Asks::Setting(setting), ..self }
    }

    /// The same with pages of a probe's buffers.
    pub(crate) const fn pages(self, pages: PageRequest) -> Self {
        Self { asks: Asks::Pages(pages), ..self }
    }
}

/// A toggle that ends with a thread or process.
pub(crate) struct ProcessToggle {
    /// What stays the same.
    pub(crate) about: About,
    /// Whether the running kernel and this machine have it.
    pub(crate) available: fn(&SystemState) -> Availability,
    /// The value that holds for a new process.
    pub(crate) now: fn(&SystemState) -> Option<&'static str>,
    /// Its values, the state without first.
    pub(crate) choices: &'static [Choice],
}

impl Toggle for ProcessToggle {
    fn about(&self) -> &About {
        &self.about
    }

    fn availability(&self, system: &SystemState) -> Availability {
        if system.user == User::Recorded {
            let reason = "only the running kernel tells; a recording does not".to_owned();
            return Availability::Unknown { reason };
        }
        if let Some(missing) = self.about.foreign(system) {
            return missing;
        }
        (self.available)(system)
    }

    fn now(&self, system: &SystemState) -> Option<String> {
        if system.user == User::Recorded {
            return None;
        }
        (self.now)(system).map(str::to_owned)
    }

    fn values(&self, _around: &SystemState) -> Vec<Value> {
        let value = |choice: &Choice| Value {
            name: choice.name.to_owned(),
            means: choice.means.to_owned(),
            risk: self.about.risk,
        };
        self.choices.iter().map(value).collect()
    }

    fn switch(&self, system: &SystemState, value: &str) -> Result<Switch, SwitchError> {
        let value = self.value(system, value)?;
        let choice = self.choices.iter().find(|choice| choice.name == value.name);
        let choice = choice.expect("a value is made of a choice");
        Ok(match choice.asks {
            Asks::Nothing => Switch::Process(Vec::new()),
            Asks::Setting(setting) => Switch::Process(vec![setting(system)]),
            Asks::Pages(pages) => Switch::Buffers(pages),
        })
    }
}
