//! What a policy gains by number of threads, beside what was published.

use serde::Serialize;
use stats::Interval;

use super::break_even::{Packing, packing};
use super::by_policy::{PolicyRow, policy_row};
use super::compiled::Compiled;
use super::description::{Class, SchedulingMachine};
use super::load::{Load, Pattern};
use super::policy::Policy;
use super::published::{JoinedNumber, join};
use super::throughput::{Gain, Throughput, gain, throughput};

/// Version of the document. It rises when a reader of the old one would misread the new one.
const SCHEMA: u32 = 1;

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scenario {
    /// Who places threads; `None`: each policy in turn.
    pub policy: Option<Policy>,
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
        self.policy.is_some_and(|policy| policies.contains(&policy))
            && self.pattern == Pattern::Copies
            && self.sharing[1] <= 0.0
    }
}

/// One number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchedulingSimulation {
    /// Version of the document.
    pub schema: u32,
    /// The machine, with every number and its source.
    pub machine: SchedulingMachine,
    /// What ran.
    pub scenario: Scenario,
    /// One per number of threads; none where only a break-even was asked for, or all policies.
    pub rows: Vec<GainRow>,
    /// One per number of threads where all policies were asked for.
    pub policies: Vec<PolicyRow>,
    /// Where packing threads that share data beats spreading them, where that was asked for and there is a level to pack them at.
    pub packing: Option<Packing>,
    /// What was published, joined after the rows were made.
    pub published: Vec<JoinedNumber>,
}

/// Runs the scenario for each number of threads.
pub fn simulate(machine: &SchedulingMachine, scenario: Scenario) -> SchedulingSimulation {
    let [low, high] = scenario.sharing;
    let only_break_even = low < high;
    let counts = scenario.threads[0]..=scenario.threads[1];
    let machines = [false, true].map(|patient| Compiled::new(machine, patient));
    let (mut rows, mut policies) = (Vec::new(), Vec::new());
    for threads in counts.filter(|_| !only_break_even) {
        match scenario.policy {
            Some(policy) => rows.push(row(&machines, scenario, policy, threads)),
            None => policies.push(policy_row(&machines, scenario, threads)),
        }
    }
    SchedulingSimulation {
        schema: SCHEMA,
        scenario,
        packing: if only_break_even { packing(machine, scenario) } else { None },
        published: if scenario.is_as_published() { join(&machine.published, &rows) } else { Vec::new() },
        rows,
        policies,
        machine: machine.clone(),
    }
}

/// What a policy makes of a load; the second machine is the one that parks later.
pub(super) fn under(machines: &[Compiled; 2], load: &Load, policy: Policy, seed: u64) -> Throughput {
    throughput(&machines[usize::from(policy.is_patient())], load, policy, seed)
}

fn row(machines: &[Compiled; 2], scenario: Scenario, policy: Policy, threads: usize) -> GainRow {
    let load = scenario.pattern.load(threads, scenario.class, scenario.sharing[0]);
    let of = |policy: Policy| under(machines, &load, policy, scenario.seed);
    let with = of(policy);
    let over = |baseline: Policy| {
        // A run against itself is no two independent ones.
        if baseline == policy { Gain::NONE } else { gain(&with, &of(baseline)) }
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
