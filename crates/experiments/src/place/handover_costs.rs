//! What a handover between threads costs on this machine, as the simulator takes it: work of one, and what a wake adds by where it goes.

use machine::{CpuId, Hertz};
use models::scheduling::{
    Class, Compiled, IdleDescription, Measured, Policy, SchedulingMachine, measured, thread_speeds,
};
use probes::cores::handover::{Handover, Handovers};
use record::Cores;

use super::prediction::{SEED, load_of};
use super::roles::Role;

/// Halvings of what a wake on a busy CPU costs: to a hundredth of it.
const HALVINGS: usize = 8;

/// What a handover costs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Costs {
    /// Work of one on the same CPU.
    pub(super) together: f64,
    /// What it adds to the work if the other thread is on an idle CPU.
    pub(super) remote: f64,
    /// How long the idle CPU takes beyond that.
    exit: f64,
    /// What it adds to the work if another thread has that CPU.
    pub(super) queue: f64,
    /// What it adds to the work on the waker's own CPU if others wait there as well.
    pub(super) stacked: f64,
}

impl Costs {
    fn of(found: &Handovers) -> Self {
        let together = found.together.ns;
        let beyond = (found.apart.ns - together).max(0.0);
        let remote = (found.apart.cpu_ns - together).clamp(0.0, beyond);
        // Two pairs on one CPU take turns, so that each waits for a handover of the other as well.
        let stacked = (found.stacked.ns / 2.0 - together).max(0.0);
        let costs = Self { together, remote, exit: beyond - remote, queue: 0.0, stacked };
        Self { queue: costs.queue_of(found.crowded.ns), ..costs }
    }

    /// As measured, then with the ends of the intervals against each other.
    pub(super) fn readings(found: &Handovers) -> Vec<Self> {
        let costs = Self::of(found);
        let below = |one: &Handover| one.interval.low - one.ns;
        let above = |one: &Handover| one.interval.high - one.ns;
        let Handovers { together, apart, crowded, stacked } = found;
        vec![
            costs,
            costs.shifted(below(together), above(apart), above(crowded), above(stacked)),
            costs.shifted(above(together), below(apart), below(crowded), below(stacked)),
        ]
    }

    /// What a wake adds on a busy CPU, so that two pairs across two CPUs take as long as the crowd did.
    fn queue_of(self, crowded_ns: f64) -> f64 {
        let two = [CpuId(0), CpuId(1)];
        let turns = |partner: usize| Role::Turns { partner, cpu_ns: 0.0, per_s: 0.0, rest_ns: 0.0 };
        let load = load_of(&[1, 0, 3, 2].map(turns), &[Class::Integer; 4], self, &[(0.0, 0.0); 4]);
        let simulated_ns = |queue: f64| {
            let machine = Self { queue, ..self }.machine(&two, &[], &Cores::default())?;
            let compiled = Compiled::new(&machine, false);
            let speeds = thread_speeds(&compiled, &load, Policy::Pinned, &[0, 1, 0, 1], SEED);
            Some(self.together / (speeds[0] + speeds[1]).max(f64::MIN_POSITIVE))
        };
        let (mut low, mut high) = (0.0, crowded_ns);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            match simulated_ns(middle) {
                Some(ns) if ns < crowded_ns => low = middle,
                _ => high = middle,
            }
        }
        low
    }

    /// The same with handovers that take so much more or less.
    fn shifted(self, together_ns: f64, apart_ns: f64, crowded_ns: f64, stacked_ns: f64) -> Self {
        Self {
            together: self.together + together_ns,
            remote: self.remote,
            exit: (self.exit + apart_ns - together_ns).max(0.0),
            queue: (self.queue + crowded_ns - together_ns).max(0.0),
            stacked: (self.stacked + stacked_ns / 2.0 - together_ns).max(0.0),
        }
    }

    /// The machine whose cycles are nanoseconds, with what a handover costs; `None` for one CPU.
    pub(super) fn machine(
        self,
        cpus: &[CpuId],
        levels: &[(&'static str, usize)],
        cores: &Cores,
    ) -> Option<SchedulingMachine> {
        // No policy that asks for the last-level cache is simulated with this machine.
        let subject = Measured { title: "this machine", cpus, levels, last_level_cache: None, cores };
        let mut machine = measured(&subject)?;
        machine.clock.hz_by_awake.value = vec![Hertz(1e9)];
        let source = "measured: handovers of two threads";
        // The curve's first point is a handover as well, of another kind: what longer rests add is taken from it.
        let base_ns = machine.idle.first().map_or(0.0, |rest| rest.exit_ns.value);
        for rest in &mut machine.idle {
            rest.exit_ns.value = self.exit + rest.exit_ns.value - base_ns;
        }
        if machine.idle.is_empty() {
            machine.idle.push(IdleDescription::of_any_rest(self.exit, source));
        }
        let measured_ns = |ns: f64| Some(models::Sourced::new(ns, source));
        machine.remote_wake_ns = measured_ns(self.remote);
        machine.remote_queue_ns = measured_ns(self.queue);
        machine.local_queue_ns = measured_ns(self.stacked);
        Some(machine)
    }
}
