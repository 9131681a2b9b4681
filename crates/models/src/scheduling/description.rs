//! A machine whose CPUs share units, as a TOML file describes it: each number with its source.

use std::ops::RangeInclusive;

use machine::Hertz;
use record::TomlError;
use serde::{Deserialize, Serialize};

use crate::machine_file::{MachineFile, MachineKind, Possible, Sourced, require, within};

/// More CPUs than this are a typing error: the next event is found by looking at each.
const CPUS_MAX: usize = 256;
/// Clocks outside of this are typing errors, in hertz: no processor was driven to 10 GHz.
const CLOCK_RANGE_HZ: RangeInclusive<f64> = 1e6..=1e10;
/// Linux gives no thread less than 0.1 ms (kernel/sched/syscalls.c, `__setscheduler_params`); shorter slices are typing errors.
const SLICE_MIN_NS: f64 = 1e5;
/// Times outside of this are typing errors: a minute.
const TIME_MAX_NS: f64 = 6e10;
/// A thread beside another is not slower than this; a file that says so means something else.
pub(super) const SPEED_MIN: f64 = 0.01;

/// Units of equal size, such as modules or CPUs that share a cache. Their CPUs are numbered one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LevelDescription {
    /// `module`, `smt`, `cluster`, `llc`, `node`.
    pub name: String,
    /// CPUs in a unit of it.
    pub cpus: Sourced<usize>,
    /// Speed of a thread beside one other in the same unit, where it is 1 alone; nothing is lost if absent.
    pub speed_of_two: Option<Sourced<f64>>,
    /// How much of the gain of shared data is had by sharing a unit of this level, from 0 to 1; none if absent.
    pub shares_data: Option<Sourced<f64>>,
    /// True if the kernel balances over units of this level; false if absent.
    pub kernel_balances: Option<Sourced<bool>>,
}

/// How the clock depends on how much is awake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockDescription {
    /// The level whose units are awake or asleep.
    pub level: String,
    /// Clock of all CPUs with one unit awake, with two and so on; the last stands for all larger numbers.
    pub hz_by_awake: Sourced<Vec<Hertz>>,
}

/// A state of rest of a unit none of whose CPUs has work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IdleDescription {
    /// `C1`, `CC6`, `parked`.
    pub name: String,
    /// The level whose units enter it; single CPUs if absent.
    pub level: Option<String>,
    /// It is entered after so much idleness.
    pub after_ns: Sourced<f64>,
    /// The same under a policy that waits longer before it parks; `after_ns` if absent.
    pub patient_after_ns: Option<Sourced<f64>>,
    /// What waking from it takes.
    pub exit_ns: Sourced<f64>,
    /// A unit in it does not count as awake for the clock.
    #[serde(default)]
    pub asleep: bool,
}

machine::named! {
    /// A policy of placement. None leaves a CPU idle while a thread waits for one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Policy {
        /// The first idle CPU in the order of their numbers.
        InOrder = "in-order",
        /// Any idle CPU.
        Random = "random",
        /// The first idle CPU of the emptiest smallest unit: the first hotfix.
        ModulesFirst = "modules-first",
        /// The same with units that park later: both hotfixes.
        ModulesFirstPatient = "modules-first-patient",
        /// An idle CPU of the fullest unit, so that others sleep.
        Pack = "pack",
        /// Linux without knowledge of data: the idlest unit of each level that it balances over at the start, near the last CPU at a wake-up.
        KernelLike = "kernel-like",
        /// Threads that share data in one unit and the others apart, where the model says that it pays: the article's wish.
        DataAware = "data-aware",
    }
}

impl Policy {
    /// True if units park later under it.
    pub fn is_patient(self) -> bool {
        self == Self::ModulesFirstPatient
    }
}

/// A gain that somebody measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublishedGain {
    /// What ran.
    pub workload: String,
    /// How many threads; absent where nobody says.
    pub threads: Option<usize>,
    /// The placement that the gain is over.
    pub over: Policy,
    /// From and to, in per cent; a single number stands twice.
    pub gain_percent: [f64; 2],
    /// The number was used to choose one of the machine's: meeting it is no merit.
    #[serde(default)]
    pub fitted: bool,
    /// Who published it.
    pub source: String,
}

/// A machine for schedulers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SchedulingMachine {
    /// What such files state.
    pub kind: String,
    /// Short name.
    pub name: String,
    /// For people.
    pub title: String,
    /// Logical CPUs.
    pub cpus: Sourced<usize>,
    /// Levels of units, the smallest first.
    pub level: Vec<LevelDescription>,
    /// The clock.
    pub clock: ClockDescription,
    /// States of rest, the lightest first.
    #[serde(default)]
    pub idle: Vec<IdleDescription>,
    /// How long a thread runs before another of the same CPU gets its turn.
    pub slice_ns: Sourced<f64>,
    /// A thread that waits for its CPU is left there by others until it has not run for so long; 0 if absent: an idle CPU takes it at
    /// once.
    pub hot_ns: Option<Sourced<f64>>,
    /// What others published of it; no prediction reads it.
    #[serde(default)]
    pub published: Vec<PublishedGain>,
}

impl SchedulingMachine {
    /// Index of a level by its name.
    pub fn level_of(&self, name: &str) -> Option<usize> {
        self.level.iter().position(|level| level.name == name)
    }

    /// True if units fall asleep, so that fewer than all may be awake.
    pub fn sleeps(&self) -> bool {
        self.idle.iter().any(|idle| idle.asleep)
    }
}

impl MachineFile for SchedulingMachine {
    const KIND: MachineKind = MachineKind::Threads;

    fn read(text: &str) -> Result<Self, TomlError> {
        record::read_toml(text)
    }

    fn possible(&self) -> Possible {
        possible_shape(self)?;
        self.level.iter().try_for_each(possible_level)?;
        possible_times(self)?;
        self.idle.iter().try_for_each(|idle| possible_idle(self, idle))?;
        self.published.iter().try_for_each(possible_publication)
    }
}

fn possible_shape(machine: &SchedulingMachine) -> Possible {
    let all = machine.cpus.value;
    within("cpus", all, 1..=CPUS_MAX)?;
    require(!machine.level.is_empty(), "level", || {
        "is missing; give at least one, such as modules of two".to_owned()
    })?;
    let mut below = 1;
    for (index, level) in machine.level.iter().enumerate() {
        let cpus = level.cpus.value;
        let key = format!("level {}", level.name);
        require(machine.level_of(&level.name) == Some(index), &key, || {
            "stands twice; give each level a name of its own".to_owned()
        })?;
        require(cpus >= 2 && cpus.is_multiple_of(below) && all.is_multiple_of(cpus), key, || {
            format!(
                "has cpus {cpus}; give at least 2, a multiple of the {below} of the level before, a divisor of all {all}"
            )
        })?;
        below = cpus;
    }
    Ok(())
}

fn possible_level(level: &LevelDescription) -> Possible {
    let key = |name: &str| format!("level {}, {name}", level.name);
    within(
        key("speed_of_two"),
        level.speed_of_two.as_ref().map_or(1.0, |speed| speed.value),
        SPEED_MIN..=1.0,
    )?;
    within(key("shares_data"), level.shares_data.as_ref().map_or(0.0, |share| share.value), 0.0..=1.0)
}

/// Holds that the machine has a level of this name.
fn require_level(machine: &SchedulingMachine, name: &str, key: String, verb: &str) -> Possible {
    require(machine.level_of(name).is_some(), key, || {
        let names: Vec<&str> = machine.level.iter().map(|level| level.name.as_str()).collect();
        format!("{verb} {name:?}; give one of {}", names.join(", "))
    })
}

fn possible_times(machine: &SchedulingMachine) -> Possible {
    require_level(machine, &machine.clock.level, "clock.level".to_owned(), "is")?;
    let clocks = &machine.clock.hz_by_awake.value;
    let are_clocks = !clocks.is_empty() && clocks.iter().all(|hz| CLOCK_RANGE_HZ.contains(&hz.0));
    require(are_clocks, "clock.hz_by_awake", || "gives no clocks of 1 MHz to 10 GHz".to_owned())?;
    within("slice_ns", machine.slice_ns.value, SLICE_MIN_NS..=TIME_MAX_NS)?;
    within("hot_ns", machine.hot_ns.as_ref().map_or(0.0, |ns| ns.value), 0.0..=TIME_MAX_NS)
}

fn possible_idle(machine: &SchedulingMachine, idle: &IdleDescription) -> Possible {
    let key = format!("idle {}", idle.name);
    if let Some(level) = &idle.level {
        require_level(machine, level, key.clone(), "has level")?;
    }
    let clock = &machine.clock.level;
    require(!idle.asleep || idle.level.as_ref() == Some(clock), &key, || {
        format!("is asleep, but not of the clock's level; give it level = {clock:?}")
    })?;
    let patient_ns = idle.patient_after_ns.as_ref().map_or(0.0, |after| after.value);
    let times = [
        ("after_ns", idle.after_ns.value),
        ("patient_after_ns", patient_ns),
        ("exit_ns", idle.exit_ns.value),
    ];
    times.into_iter().try_for_each(|(name, ns)| within(format!("{key}, {name}"), ns, 0.0..=TIME_MAX_NS))
}

fn possible_publication(published: &PublishedGain) -> Possible {
    let key = format!("published {}", published.workload);
    let [low, high] = published.gain_percent;
    require(low.is_finite() && high.is_finite() && -100.0 < low && low <= high, &key, || {
        format!("has gain_percent [{low}, {high}]; give the lower first, both above -100")
    })?;
    require(published.threads != Some(0), key, || {
        "has threads 0; leave it out where the count is unknown".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_file::tests::are_refused;

    #[test]
    fn what_cannot_be_is_named_with_its_key() {
        let changes = [
            ("cpus = { value = 8", "cpus = { value = 7", "level module"),
            ("cpus = { value = 8", "cpus = { value = 0", "cpus is 0"),
            ("cpus = { value = 2", "cpus = { value = 3", "level module"),
            ("name = \"l3\"", "name = \"module\"", "stands twice"),
            ("value = 0.8,", "value = 1.8,", "level module, speed_of_two"),
            ("value = 0.8,", "value = nan,", "nan stands for no quantity"),
            ("[4.2e9, 4.2e9", "[4.2, 4.2e9", "clock.hz_by_awake"),
            ("level = \"module\"\nhz", "level = \"die\"\nhz", "clock.level"),
            ("value = 2e7,", "value = 9e4,", "slice_ns is 90000; give 100000 to"),
            ("kind = \"scheduling\"", "kind = \"x\"", "kind"),
            ("gain_percent = [0, 0]", "gain_percent = [1, 0]", "published"),
            ("asleep = true", "asleep = true\nexit_us = 1", "line"),
        ];
        are_refused::<SchedulingMachine>("fx-8150", &changes);
    }
}
