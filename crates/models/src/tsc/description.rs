//! A machine whose counters drift, as a TOML file describes it: each number with its source.

use machine::Hertz;
use record::TomlError;
use serde::{Deserialize, Serialize};

use crate::machine_file::{MachineFile, MachineKind, Possible, Sourced, require, within};

/// More cores than this are a typing error: eight nodes of two were the largest machines of family 0Fh.
const CORES_MAX: usize = 64;
/// Clocks outside of this are typing errors, in hertz.
const CLOCK_RANGE_HZ: std::ops::RangeInclusive<f64> = 1e6..=1e11;
/// Ticks of a kernel outside of this are typing errors, in hertz.
const TICK_RANGE_HZ: std::ops::RangeInclusive<f64> = 10.0..=10_000.0;
/// Times outside of this are typing errors: a second.
const TIME_MAX_NS: f64 = 1e9;

/// Where a kernel gets its time from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimeSource {
    /// The counter of the core that asks.
    Counter,
    /// One timer for all.
    PlatformTimer,
}

/// What asking for the time costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadDescription {
    /// `tsc`, `hpet` or `acpi_pm`.
    pub name: String,
    /// What is read.
    pub source_of_time: TimeSource,
    /// Nanoseconds per call.
    pub ns: Sourced<f64>,
}

/// A machine without an invariant counter, and the kernel on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TscMachine {
    /// What such files state.
    pub kind: String,
    /// Short name.
    pub name: String,
    /// For people.
    pub title: String,
    /// Sockets; each has a frequency of its own.
    pub sockets: usize,
    /// Cores of a socket; they change frequency together.
    pub cores_per_socket: usize,
    /// Frequencies, highest first. The counter ticks with them.
    pub pstates_hz: Sourced<Vec<Hertz>>,
    /// A change of frequency goes by steps of this size.
    pub step_hz: Sourced<Hertz>,
    /// How long a step takes.
    pub step_ns: Sourced<f64>,
    /// A halted core's clock is divided by this where ramping is on.
    pub halt_divisor: Sourced<f64>,
    /// Timer interrupts per second.
    pub tick_hz: Sourced<f64>,
    /// For how long a tick wakes a halted core.
    pub tick_work_ns: Sourced<f64>,
    /// How often the governor decides.
    pub governor_period_ns: Sourced<f64>,
    /// Above this load the governor asks for the highest frequency.
    pub governor_up_threshold: Sourced<f64>,
    /// Within so many cycles of the highest frequency two cores can compare their counters.
    pub transfer_cycles: Sourced<f64>,
    /// What reading the time costs, by source.
    pub read: Vec<ReadDescription>,
}

impl TscMachine {
    /// Cores of the machine; core 0 takes the timer interrupt.
    pub fn cores(&self) -> usize {
        self.sockets * self.cores_per_socket
    }

    /// The highest frequency.
    pub fn highest_hz(&self) -> f64 {
        self.pstates_hz.value[0].0
    }

    /// The entry of a source of time.
    pub fn read_of(&self, name: &str) -> Option<&ReadDescription> {
        self.read.iter().find(|read| read.name == name)
    }
}

impl MachineFile for TscMachine {
    const KIND: MachineKind = MachineKind::Counters;

    fn read(text: &str) -> Result<Self, TomlError> {
        record::read_toml(text)
    }

    fn possible(&self) -> Possible {
        possible(self)
    }
}

fn possible(machine: &TscMachine) -> Possible {
    let is_any = machine.sockets > 0 && machine.cores_per_socket > 0;
    require(is_any && (2..=CORES_MAX).contains(&machine.cores()), "sockets and cores_per_socket", || {
        format!("make no 2 to {CORES_MAX} cores")
    })?;
    let states = &machine.pstates_hz.value;
    let are_clocks = !states.is_empty() && states.iter().all(|state| CLOCK_RANGE_HZ.contains(&state.0));
    require(are_clocks, "pstates_hz", || "gives no frequencies of 1 MHz to 100 GHz".to_owned())?;
    require(states.windows(2).all(|pair| pair[0].0 > pair[1].0), "pstates_hz", || {
        "does not fall; give the highest first, each once".to_owned()
    })?;
    within("step_hz", machine.step_hz.value.0, CLOCK_RANGE_HZ)?;
    within("tick_hz", machine.tick_hz.value, TICK_RANGE_HZ)?;
    let tick_ns = 1e9 / machine.tick_hz.value;
    within("step_ns", machine.step_ns.value, 0.0..=TIME_MAX_NS)?;
    within("halt_divisor", machine.halt_divisor.value, 1.0..=1e6)?;
    within("tick_work_ns", machine.tick_work_ns.value, 0.0..=tick_ns)?;
    within("governor_period_ns", machine.governor_period_ns.value, tick_ns..=60.0 * TIME_MAX_NS)?;
    within("governor_up_threshold", machine.governor_up_threshold.value, 0.01..=1.0)?;
    within("transfer_cycles", machine.transfer_cycles.value, 1.0..=1e6)?;
    for entry in &machine.read {
        within(format!("read {}", entry.name), entry.ns.value, 0.0..=TIME_MAX_NS)?;
    }
    let counter = machine.read_of("tsc").filter(|entry| entry.source_of_time == TimeSource::Counter);
    require(counter.is_some(), "read", || "has no entry tsc with source_of_time \"counter\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_file::tests::are_refused;

    #[test]
    fn what_cannot_be_is_named_with_its_key() {
        let changes = [
            ("sockets = 2", "sockets = 0", "sockets"),
            ("[2.4e9, 2.2e9", "[2.2e9, 2.4e9", "pstates_hz"),
            ("value = 1000,", "value = 0,", "tick_hz"),
            ("value = 0.8,", "value = nan,", "nan stands for no quantity"),
            ("name = \"tsc\"", "name = \"mine\"", "read"),
            ("kind = \"time-stamp-counters\"", "kind = \"x\"", "kind"),
        ];
        are_refused::<TscMachine>("k8-opteron", &changes);
    }
}
