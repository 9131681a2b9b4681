//! What a policy gains by number of threads, beside what was published; and all policies side by side.

use serde::Serialize;
use stats::Interval;

use super::break_even::{Packing, packing};
use super::compiled::Compiled;
use super::description::{Policy, PublishedGain, SchedulingMachine};
use super::load::{Load, Scenario};
use super::throughput::{Gain, Throughput, gain, throughput};

/// Version of the document. It rises when a reader of the old one would misread the new one.
const SCHEMA: u32 = 1;

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

/// One number of threads under every policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyRow {
    /// How many.
    pub threads: usize,
    /// In the order of `Policy::ALL`.
    pub policies: Vec<PolicyGain>,
}

/// What one policy makes of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyGain {
    /// Who places threads.
    pub policy: Policy,
    /// Over threads on idle CPUs at random.
    pub over_random: Gain,
    /// Over a kernel that does not know of data.
    pub over_kernel_like: Gain,
    /// Itself.
    pub throughput: Throughput,
}

/// A published gain beside what was predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedNumber {
    /// As published.
    #[serde(flatten)]
    pub published: PublishedGain,
    /// The prediction for that number of threads; none where the number is unknown or was not simulated.
    pub predicted_percent: Option<f64>,
    /// The smallest and the largest prediction over all numbers of threads that were simulated.
    pub predicted_range_percent: [f64; 2],
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
fn under(machines: &[Compiled; 2], load: &Load, policy: Policy, seed: u64) -> Throughput {
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

/// One number of threads under all policies.
fn policy_row(machines: &[Compiled; 2], scenario: Scenario, threads: usize) -> PolicyRow {
    let load = scenario.pattern.load(threads, scenario.class, scenario.sharing[0]);
    let all = Policy::ALL.map(|policy| (policy, under(machines, &load, policy, scenario.seed)));
    let over = |(own, with): &(Policy, Throughput), baseline: Policy| {
        let without = all.iter().find(|(policy, _)| *policy == baseline).expect("it is one of all");
        // A run against itself is no two independent ones.
        if *own == baseline { Gain::NONE } else { gain(with, &without.1) }
    };
    let one = |one: &(Policy, Throughput)| PolicyGain {
        policy: one.0,
        over_random: over(one, Policy::Random),
        over_kernel_like: over(one, Policy::KernelLike),
        throughput: one.1,
    };
    PolicyRow { threads, policies: all.iter().map(one).collect() }
}

/// Puts what was published beside the rows.
fn join(published: &[PublishedGain], rows: &[GainRow]) -> Vec<JoinedNumber> {
    if rows.is_empty() {
        return Vec::new();
    }
    let one = |published: &PublishedGain| {
        let gains = || rows.iter().filter_map(|row| row.gain_over_percent(published.over));
        let at_count = rows.iter().find(|row| Some(row.threads) == published.threads);
        JoinedNumber {
            published: published.clone(),
            predicted_percent: at_count.and_then(|row| row.gain_over_percent(published.over)),
            predicted_range_percent: [
                gains().fold(f64::INFINITY, f64::min),
                gains().fold(f64::NEG_INFINITY, f64::max),
            ],
        }
    };
    published.iter().map(one).collect()
}
