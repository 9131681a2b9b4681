//! Switches that cannot be taken back before the next boot: listed, explained, never made.

use crate::{About, Availability, Switch, SwitchError, SystemState, Toggle, Value};

/// A one-way switch.
pub(crate) struct Latch {
    /// What stays the same.
    pub(crate) about: About,
    /// The file that shows its state, if there is one.
    pub(crate) file: Option<&'static str>,
}

impl Toggle for Latch {
    fn about(&self) -> &About {
        &self.about
    }

    fn availability(&self, _around: &SystemState) -> Availability {
        Availability::missing(format!("never switched: {}", self.about.opens), "")
    }

    fn now(&self, system: &SystemState) -> Option<String> {
        system.root.read(self.file?).ok().filter(|text| !text.is_empty())
    }

    fn values(&self, _around: &SystemState) -> Vec<Value> {
        Vec::new()
    }

    fn switch(&self, system: &SystemState, value: &str) -> Result<Switch, SwitchError> {
        self.value(system, value)?;
        let choices = "none: a latch has no way back".to_owned();
        Err(SwitchError::NoSuchValue { toggle: self.about.name, value: value.to_owned(), choices })
    }
}
