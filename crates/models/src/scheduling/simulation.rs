//! What a policy gains by number of threads, beside what was published.

use serde::Serialize;
use stats::Interval;

use super::break_even::{Packing, packing};
use super::compiled::Compiled;
use super::description::{Class, SchedulingMachine};
use super::load::Pattern;
use super::policy::Policy;
use super::published::{JoinedNumber, join};
use super::throughput::{Throughput, gain, throughput};

/// Version of the document. It rises when a reader of the old one would misread the new one.
const SCHEMA: u32 = 1;

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scenario {
    /// Who places threads.
    pub policy: Policy,
    /// What the threads do.
    pub pattern: Pattern,
    /// What their work keeps busy.
    pub class: Class,
    /// Fewest and most threads.
    pub threads: [usize; 2],
    /// What a thread gains from data that it shares with its partner, as a share of its speed. With two numbers only the
    /// break-even between them is asked for.
    pub sharing: [f64; 2],
    /// Of all that is drawn.
    pub seed: u64,
}

impl Scenario {
    /// True if it is what published gains are about: independent programs under a policy that fills empty units first.
    fn is_as_published(&self) -> bool {
        let policies = [Policy::ModulesFirst, Policy::ModulesFirstPatient];
        policies.contains(&self.policy) && self.pattern == Pattern::Copies && self.sharing[1] <= 0.0
    }
}

/// One number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GainRow {
    /// How many.
    pub threads: usize,
    /// Over threads on idle CPUs at random.
    pub gain_over_random_percent: f64,
    /// At 95 %, from the runs.
    pub gain_over_random_interval: Interval,
    /// Over threads on the first idle CPU.
    pub gain_over_in_order_percent: f64,
    /// As above.
    pub gain_over_in_order_interval: Interval,
    /// Over a kernel that does not know of data.
    pub gain_over_kernel_like_percent: f64,
    /// As above.
    pub gain_over_kernel_like_interval: Interval,
    /// The policy itself.
    pub throughput: Throughput,
}

impl GainRow {
    /// The gain over a placement that rows are compared with.
    pub fn gain_over_percent(&self, over: Policy) -> Option<f64> {
        match over {
            Policy::Random => Some(self.gain_over_random_percent),
            Policy::InOrder => Some(self.gain_over_in_order_percent),
            Policy::KernelLike => Some(self.gain_over_kernel_like_percent),
            _ => None,
        }
    }
}

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SchedulingSimulation {
    /// Version of the document.
    pub schema: u32,
    /// The machine, with every number and its source.
    pub machine: SchedulingMachine,
    /// What ran.
    pub scenario: Scenario,
    /// One per number of threads; none where only a break-even was asked for.
    pub rows: Vec<GainRow>,
    /// Where packing threads that share data beats spreading them, where that was asked for.
    pub packing: Option<Packing>,
    /// What was published, joined after the rows were made.
    pub published: Vec<JoinedNumber>,
}

/// Runs the scenario for each number of threads.
pub fn simulate(machine: &SchedulingMachine, scenario: Scenario) -> SchedulingSimulation {
    let [low, high] = scenario.sharing;
    let only_break_even = low < high;
    let counts = scenario.threads[0]..=scenario.threads[1];
    let rows: Vec<GainRow> = if only_break_even {
        Vec::new()
    } else {
        let machines = [false, true].map(|patient| Compiled::new(machine, patient));
        counts.map(|threads| row(&machines, scenario, threads)).collect()
    };
    SchedulingSimulation {
        schema: SCHEMA,
        scenario,
        packing: only_break_even.then(|| packing(machine, scenario)),
        published: if scenario.is_as_published() { join(&machine.published, &rows) } else { Vec::new() },
        rows,
        machine: machine.clone(),
    }
}

fn row(machines: &[Compiled; 2], scenario: Scenario, threads: usize) -> GainRow {
    let load = scenario.pattern.load(threads, scenario.class, scenario.sharing[0]);
    let of = |policy: Policy| {
        throughput(&machines[usize::from(policy.is_patient())], &load, policy, scenario.seed)
    };
    let with = of(scenario.policy);
    let over = |policy: Policy| {
        let without = if policy == scenario.policy { with } else { of(policy) };
        gain(&with, &without)
    };
    let [random, in_order, kernel_like] = [Policy::Random, Policy::InOrder, Policy::KernelLike].map(over);
    GainRow {
        threads,
        gain_over_random_percent: random.percent,
        gain_over_random_interval: random.interval,
        gain_over_in_order_percent: in_order.percent,
        gain_over_in_order_interval: in_order.interval,
        gain_over_kernel_like_percent: kernel_like.percent,
        gain_over_kernel_like_interval: kernel_like.interval,
        throughput: with,
    }
}
