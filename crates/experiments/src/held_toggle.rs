//! A toggle of the system held for a measurement, through the engine: the clock source while its prices are taken in turns, frequencies
//! (each CPU at its lowest or its highest, by the ceiling) while clocks are checked.
//!
//! Everything is journalled first, watched over, and put back when this is dropped.

use std::time::Duration;

use host::Target;
use machine::{CpuId, Machine};
use probes::clock_pairs::Frequencies;
use probes::clock_reads::sources::ClockSources;
use toggles::{Availability, Change, Hold, Intent, Place, Restored, Switch, SystemState, Toggle};

const CLOCK_SOURCE: &str = "clocksource";
const FREQUENCY: &str = "frequency-ceiling";
/// The watchdog gives this much time beyond the budget.
const DEADLINE_SLACK: Duration = Duration::from_secs(60);

/// The clock sources of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offered {
    /// All of them, the one in use first.
    pub names: Vec<String>,
    /// Why they cannot be changed here, and what would make it possible; `None` if they can.
    pub denied: Option<String>,
}

/// What could be measured on a machine, live or recorded.
pub fn offered(system: &SystemState<'_>) -> Offered {
    let toggle = toggle(CLOCK_SOURCE);
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

fn toggle(name: &str) -> &'static dyn Toggle {
    toggles::find(name).expect("it is in the catalogue")
}

/// A hold on a toggle.
#[derive(Debug)]
struct Held {
    hold: Hold,
    /// What makes each of its values hold.
    states: Vec<Vec<Change>>,
    settle: Duration,
    /// What holds now, once that is known.
    now: Option<Vec<Change>>,
}

impl Held {
    /// Journals the toggle of this machine; nothing is changed yet.
    fn begin(
        name: &str,
        values: &[&str],
        label: &str,
        system: &SystemState<'_>,
        budget: Duration,
    ) -> Result<Self, String> {
        let toggle = toggle(name);
        let changes = |value: &&str| match toggle.switch(system, value) {
            Ok(Switch::System(changes)) => Ok(changes),
            Ok(_) => Err(format!("{name} is no setting of the system")),
            Err(error) => Err(error.to_string()),
        };
        let states = values.iter().map(changes).collect::<Result<Vec<_>, String>>()?;
        let slices: Vec<&[Change]> = states.iter().map(Vec::as_slice).collect();
        let intent = Intent { label, states: &slices, kept: false };
        let hold = Hold::begin(&Place::live(), &intent, budget + DEADLINE_SLACK)
            .map_err(|error| error.to_string())?;
        Ok(Self { hold, states, settle: toggle.about().settle, now: None })
    }

    fn switch(&mut self, changes: Vec<Change>) -> Result<(), String> {
        if self.now.as_ref() != Some(&changes) {
            self.hold.switch(&changes).map_err(|error| error.to_string())?;
            std::thread::sleep(self.settle);
            self.now = Some(changes);
        }
        Ok(())
    }
}

/// A hold on the kernel's clock source.
#[derive(Debug)]
pub struct HeldClockSource {
    held: Held,
    /// All sources, the one in use first.
    names: Vec<String>,
}

impl HeldClockSource {
    /// Journals the clock source of this machine; nothing is changed yet.
    ///
    /// # Errors
    /// Why it cannot be held here, in one sentence.
    pub fn begin(machine: &Machine, budget: Duration) -> Result<Self, String> {
        let root = Place::live().root().map_err(|error| error.to_string())?;
        let system = SystemState::of(&root, machine);
        let Offered { names, denied } = offered(&system);
        if names.is_empty() {
            return Err("the kernel names no clock source".to_owned());
        }
        if let Some(denied) = denied {
            return Err(denied);
        }
        let values: Vec<&str> = names.iter().map(String::as_str).collect();
        let label = "clock sources in turns, by clock cost";
        let mut held = Held::begin(CLOCK_SOURCE, &values, label, &system, budget)?;
        held.now = held.states.first().cloned();
        Ok(Self { held, names })
    }

    /// All sources, the one in use first.
    pub fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Puts the clock source back, and tells what became of it.
    pub fn end(self) -> Vec<Restored> {
        self.held.hold.end()
    }
}

impl ClockSources for HeldClockSource {
    fn hold(&mut self, source: &str) -> Result<(), String> {
        let place = self.names.iter().position(|name| name == source);
        let place = place.ok_or_else(|| format!("no clock source is called {source}"))?;
        self.held.switch(self.held.states[place].clone())
    }
}

/// A hold on the frequencies of CPUs.
#[derive(Debug)]
pub struct HeldFrequencies {
    held: Held,
    cpus: Vec<CpuId>,
}

impl HeldFrequencies {
    /// Journals the frequencies of this machine; nothing is changed yet.
    ///
    /// # Errors
    /// Why frequencies cannot be held here, in one sentence.
    pub fn begin(machine: &Machine, cpus: &[CpuId], budget: Duration) -> Result<Self, String> {
        let root = Place::live().root().map_err(|error| error.to_string())?;
        let system = SystemState::of(&root, machine);
        let label = "P-states held by clock check";
        let held = Held::begin(FREQUENCY, &["lowest", "highest"], label, &system, budget)?;
        Ok(Self { held, cpus: cpus.to_vec() })
    }

    /// Puts the frequencies back, and tells what became of each.
    pub fn end(self) -> Vec<Restored> {
        self.held.hold.end()
    }
}

impl Frequencies for HeldFrequencies {
    fn hold(&mut self, is_slow: &dyn Fn(usize) -> bool) -> Result<(), String> {
        let chosen = chosen([&self.held.states[0], &self.held.states[1]], &self.cpus, is_slow);
        self.held.switch(chosen)
    }
}

/// The writes that hold each CPU where it shall be, of those for the lowest and the highest frequency, policy by policy. A policy is
/// held where the CPU shall be after which it is named.
fn chosen([lowest, highest]: [&[Change]; 2], cpus: &[CpuId], is_slow: &dyn Fn(usize) -> bool) -> Vec<Change> {
    let slow = |change: &Change| {
        let index = policy(&change.target).and_then(|cpu| cpus.iter().position(|other| *other == cpu));
        index.is_some_and(is_slow)
    };
    let pairs = lowest.iter().zip(highest);
    pairs.map(|(low, high)| if slow(low) { low.clone() } else { high.clone() }).collect()
}

/// The CPU after which a policy is named: its first. Linux, Documentation/admin-guide/pm/cpufreq.rst.
fn policy(target: &Target) -> Option<CpuId> {
    let Target::File { path } = target else { return None };
    path.split('/').find_map(|part| part.strip_prefix("policy")?.parse().ok()).map(CpuId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_is_held_where_its_cpu_shall_be() {
        let change = |cpu: u32, value: &str| Change {
            target: Target::File {
                path: format!("sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_max_freq"),
            },
            value: value.to_owned(),
        };
        let lowest = [change(0, "800"), change(2, "800"), change(9, "800")];
        let highest = [change(0, "3000"), change(2, "3000"), change(9, "3000")];
        let chosen = chosen([&lowest, &highest], &[CpuId(0), CpuId(2)], &|cpu_index| cpu_index == 1);
        // The policy of a CPU that is not measured is free.
        assert_eq!(chosen, [change(0, "3000"), change(2, "800"), change(9, "3000")]);
    }

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
