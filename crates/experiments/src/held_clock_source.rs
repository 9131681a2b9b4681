//! The kernel's clock source, changed for a measurement through the toggle engine.
//!
//! Everything is journalled first, watched over, and put back when this is dropped.

use std::time::Duration;

use machine::Machine;
use probes::clock_reads::sources::ClockSources;
use toggles::{Availability, Change, Hold, Intent, Place, Restored, Switch, SystemState, Toggle};

/// The toggle that is used.
const TOGGLE: &str = "clocksource";
/// The watchdog gives this much time beyond the budget.
const DEADLINE_SLACK: Duration = Duration::from_secs(60);

/// A hold on the kernel's clock source.
#[derive(Debug)]
pub struct HeldClockSource {
    hold: Hold,
    /// All sources, the one in use first, with what makes each hold.
    states: Vec<(String, Vec<Change>)>,
    settle: Duration,
    /// The one that holds now.
    now: String,
}

/// The clock sources of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offered {
    /// All of them, the one in use first.
    pub names: Vec<String>,
    /// Why they cannot be changed here, and what would make it possible; `None` if they can.
    pub denied: Option<String>,
}

fn toggle() -> &'static dyn Toggle {
    toggles::find(TOGGLE).expect("the catalogue has a clock source")
}

/// What could be measured on a machine, live or recorded.
pub fn offered(system: &SystemState<'_>) -> Offered {
    let toggle = toggle();
    let Some(now) = toggle.now(system) else { return Offered::default() };
    let others = toggle.values(system).into_iter().map(|value| value.name).filter(|name| *name != now);
    let names = std::iter::once(now.clone()).chain(others).collect();
    let denied = match toggle.availability(system) {
        Availability::Available => None,
        Availability::Missing { reason, remedy } => Some(format!("{reason}; {remedy}")),
        Availability::Unknown { reason } => Some(reason),
    };
    Offered { names, denied }
}

impl HeldClockSource {
    /// Journals the clock source of this machine; nothing is changed yet.
    ///
    /// # Errors
    /// Why it cannot be held here, in one sentence.
    pub fn begin(machine: &Machine, budget: Duration) -> Result<Self, String> {
        let place = Place::live();
        let root = place.root().map_err(|error| error.to_string())?;
        let system = SystemState::of(&root, machine);
        let Offered { names, denied } = offered(&system);
        let now = names.first().cloned().ok_or("the kernel names no clock source")?;
        if let Some(denied) = denied {
            return Err(denied);
        }
        let changes = |name: &String| match toggle().switch(&system, name) {
            Ok(Switch::System(changes)) => Ok((name.clone(), changes)),
            Ok(_) => Err(format!("{TOGGLE} is no setting of the system")),
            Err(error) => Err(error.to_string()),
        };
        let states = names.iter().map(changes).collect::<Result<Vec<_>, String>>()?;
        let slices: Vec<&[Change]> = states.iter().map(|(_, changes)| changes.as_slice()).collect();
        let intent = Intent { label: "clock sources in turns, by clock cost", states: &slices, kept: false };
        let hold =
            Hold::begin(&place, &intent, budget + DEADLINE_SLACK).map_err(|error| error.to_string())?;
        Ok(Self { hold, states, settle: toggle().about().settle, now })
    }

    /// All sources, the one in use first.
    pub fn names(&self) -> Vec<String> {
        self.states.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Puts the clock source back, and tells what became of it.
    pub fn end(self) -> Vec<Restored> {
        self.hold.end()
    }
}

impl ClockSources for HeldClockSource {
    fn hold(&mut self, source: &str) -> Result<(), String> {
        if self.now == source {
            return Ok(());
        }
        let state = self.states.iter().find(|(name, _)| name == source);
        let (_, changes) = state.ok_or_else(|| format!("no clock source is called {source}"))?;
        self.hold.switch(changes).map_err(|error| error.to_string())?;
        std::thread::sleep(self.settle);
        source.clone_into(&mut self.now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_machine_names_its_sources_and_why_none_is_measured() {
        let tree = tempfile::tempdir().expect("a temporary directory");
        let folder = tree.path().join("sys/devices/system/clocksource/clocksource0");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::create_dir_all(tree.path().join("proc")).expect("a folder");
        for (name, text) in
            [("current_clocksource", "hpet\n"), ("available_clocksource", "tsc hpet acpi_pm \n")]
        {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        let root = host::Root::open(tree.path()).expect("a tree");
        let machine = Machine::default();
        let offered = offered(&SystemState::of(&root, &machine));
        assert_eq!(offered.names, ["hpet", "tsc", "acpi_pm"]);
    }
}
