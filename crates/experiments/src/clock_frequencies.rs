//! Frequencies held for a check of clocks: each CPU at its lowest or its highest, through the toggle engine.
//!
//! The ceiling of the frequency is lowered or raised; a CPU that works then runs at its lowest or is free to rise. Everything
//! is journalled first, watched over, and put back when this is dropped.

use std::time::Duration;

use host::Target;
use machine::{CpuId, Machine};
use probes::clock_pairs::Frequencies;
use toggles::{Change, Hold, Intent, Place, Restored, Switch, SystemState};

/// The toggle that is used.
const TOGGLE: &str = "frequency-ceiling";
/// The watchdog gives this much time beyond the budget.
const DEADLINE_SLACK: Duration = Duration::from_secs(60);

/// A hold on the frequencies of CPUs.
#[derive(Debug)]
pub struct HeldFrequencies {
    hold: Hold,
    states: States,
    settle: Duration,
    /// The choice that holds now.
    now: Option<Vec<Change>>,
}

/// The writes of both states, policy by policy.
#[derive(Debug, Clone, PartialEq)]
struct States {
    lowest: Vec<Change>,
    highest: Vec<Change>,
    cpus: Vec<CpuId>,
}

impl HeldFrequencies {
    /// Journals the frequencies of this machine; nothing is changed yet.
    ///
    /// # Errors
    /// Why frequencies cannot be held here, in one sentence.
    pub fn begin(machine: &Machine, cpus: &[CpuId], budget: Duration) -> Result<Self, String> {
        let place = Place::live();
        let root = place.root().map_err(|error| error.to_string())?;
        let system = SystemState::of(&root, machine);
        let toggle = toggles::find(TOGGLE).map_err(|error| error.to_string())?;
        let changes = |value: &str| match toggle.switch(&system, value) {
            Ok(Switch::System(changes)) => Ok(changes),
            Ok(_) => Err(format!("{TOGGLE} is no setting of the system")),
            Err(error) => Err(error.to_string()),
        };
        let states = States { lowest: changes("lowest")?, highest: changes("highest")?, cpus: cpus.to_vec() };
        let intent = Intent {
            label: "P-states held by clock check",
            states: &[states.lowest.as_slice(), states.highest.as_slice()],
            kept: false,
        };
        let hold =
            Hold::begin(&place, &intent, budget + DEADLINE_SLACK).map_err(|error| error.to_string())?;
        Ok(Self { hold, states, settle: toggle.about().settle, now: None })
    }

    /// Puts the frequencies back, and tells what became of each.
    pub fn end(self) -> Vec<Restored> {
        self.hold.end()
    }
}

impl Frequencies for HeldFrequencies {
    fn hold(&mut self, is_slow: &dyn Fn(usize) -> bool) -> Result<(), String> {
        let chosen = self.states.choose(is_slow);
        if self.now.as_ref() != Some(&chosen) {
            self.hold.switch(&chosen).map_err(|error| error.to_string())?;
            std::thread::sleep(self.settle);
            self.now = Some(chosen);
        }
        Ok(())
    }
}

impl States {
    /// The writes that hold each CPU where it shall be. A policy is held where the CPU shall be after which it is named.
    fn choose(&self, is_slow: &dyn Fn(usize) -> bool) -> Vec<Change> {
        let slow = |change: &Change| {
            let index =
                policy(&change.target).and_then(|cpu| self.cpus.iter().position(|other| *other == cpu));
            index.is_some_and(is_slow)
        };
        let pairs = self.lowest.iter().zip(&self.highest);
        pairs.map(|(low, high)| if slow(low) { low.clone() } else { high.clone() }).collect()
    }
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
        let states = States {
            lowest: vec![change(0, "800"), change(2, "800"), change(9, "800")],
            highest: vec![change(0, "3000"), change(2, "3000"), change(9, "3000")],
            cpus: vec![CpuId(0), CpuId(2)],
        };
        let chosen = states.choose(&|cpu_index| cpu_index == 1);
        // The policy of a CPU that is not measured is free.
        assert_eq!(chosen, [change(0, "3000"), change(2, "800"), change(9, "3000")]);
    }
}
