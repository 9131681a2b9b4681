//! A machine ready for simulation: units by arithmetic, costs as tables.

use super::description::SchedulingMachine;

/// One level of units.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    pub(super) cpus: usize,
    /// What one thread more adds to the time of another's work; none where nothing is shared.
    pub(super) crowding: Option<f64>,
    pub(super) shares_data: f64,
    pub(super) kernel_balances: bool,
}

impl Level {
    /// The unit of a CPU.
    pub(super) fn unit(&self, cpu: usize) -> usize {
        cpu / self.cpus
    }

    /// The CPUs of the unit of a CPU.
    pub(super) fn around(&self, cpu: usize) -> std::ops::Range<usize> {
        let first = self.unit(cpu) * self.cpus;
        first..first + self.cpus
    }
}

/// A state of rest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rest {
    /// CPUs of the unit that rests.
    pub(super) cpus: usize,
    pub(super) after_ns: f64,
    pub(super) exit_ns: f64,
    pub(super) asleep: bool,
}

/// A machine ready for simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    pub(super) cpus: usize,
    pub(super) levels: Vec<Level>,
    /// CPUs of a unit that is awake or asleep for the clock.
    pub(super) clock_cpus: usize,
    /// Cycles per nanosecond by units awake; the last entry stands for all larger numbers.
    pub(super) ghz_by_awake: Vec<f64>,
    pub(super) rests: Vec<Rest>,
    pub(super) slice_ns: f64,
    pub(super) hot_ns: f64,
    /// A change of who runs on a CPU changes speeds in so many CPUs around it.
    pub(super) coupled_cpus: usize,
}

impl Compiled {
    /// Of a machine as described; `patient` waits longer before units park.
    pub fn new(machine: &SchedulingMachine, patient: bool) -> Self {
        let cpus = machine.cpus.value;
        let levels: Vec<Level> = machine
            .level
            .iter()
            .map(|level| Level {
                cpus: level.cpus.value,
                crowding: level.speed_of_two.as_ref().map(|speed| 1.0 / speed.value - 1.0),
                shares_data: level.shares_data.as_ref().map_or(0.0, |share| share.value),
                kernel_balances: level.kernel_balances.as_ref().is_some_and(|balances| balances.value),
            })
            .collect();
        let cpus_of = |name: &str| machine.level_of(name).map_or(1, |level| machine.level[level].cpus.value);
        let coupled = levels.iter().filter(|level| level.crowding.is_some());
        let coupled_cpus = coupled.map(|level| level.cpus).max().unwrap_or(1);
        let rests = machine.idle.iter().map(|idle| {
            let after = idle.patient_after_ns.as_ref().filter(|_| patient).unwrap_or(&idle.after_ns);
            Rest {
                cpus: idle.level.as_deref().map_or(1, cpus_of),
                after_ns: after.value,
                exit_ns: idle.exit_ns.value,
                asleep: idle.asleep,
            }
        });
        Self {
            cpus,
            coupled_cpus,
            clock_cpus: cpus_of(&machine.clock.level),
            ghz_by_awake: machine.clock.hz_by_awake.value.iter().map(|hz| hz.0 / 1e9).collect(),
            rests: rests.collect(),
            slice_ns: machine.slice_ns.value,
            hot_ns: machine.hot_ns.as_ref().map_or(0.0, |ns| ns.value),
            levels,
        }
    }

    /// Logical CPUs.
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// Levels below the whole machine that hold more of shared data than the level around them, the smallest first.
    pub(super) fn sharing_levels(&self) -> Vec<usize> {
        let around =
            |index: usize| self.levels[index + 1..].iter().map(|level| level.shares_data).fold(0.0, f64::max);
        let holds_more = |index: &usize| {
            let level = &self.levels[*index];
            level.cpus < self.cpus && level.shares_data > around(*index)
        };
        (0..self.levels.len()).filter(holds_more).collect()
    }

    /// Cycles per nanosecond with so many units awake.
    pub(super) fn ghz(&self, awake: usize) -> f64 {
        self.ghz_by_awake[awake.clamp(1, self.ghz_by_awake.len()) - 1]
    }

    /// After how long an idle unit no longer counts for the clock; none if it always counts.
    pub(super) fn asleep_after_ns(&self) -> Option<f64> {
        self.rests.iter().filter(|rest| rest.asleep).map(|rest| rest.after_ns).min_by(f64::total_cmp)
    }
}
