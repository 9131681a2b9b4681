//! What a policy gains by number of threads, beside what was published.

use serde::Serialize;
use stats::Interval;

use super::compiled::Compiled;
use super::description::{Policy, PublishedGain, SchedulingMachine};
use super::load::Scenario;
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
    /// One per number of threads.
    pub rows: Vec<GainRow>,
    /// What was published, joined after the rows were made.
    pub published: Vec<JoinedNumber>,
}

/// Runs the scenario for each number of threads.
pub fn simulate(machine: &SchedulingMachine, scenario: Scenario) -> SchedulingSimulation {
    let counts = scenario.threads[0]..=scenario.threads[1];
    let machines = [false, true].map(|patient| Compiled::new(machine, patient));
    let rows: Vec<GainRow> = counts.map(|threads| row(&machines, scenario, threads)).collect();
    SchedulingSimulation {
        schema: SCHEMA,
        scenario,
        published: if scenario.is_as_published() { join(&machine.published, &rows) } else { Vec::new() },
        rows,
        machine: machine.clone(),
    }
}

/// One number of threads; the second machine is the one that parks later.
fn row(machines: &[Compiled; 2], scenario: Scenario, threads: usize) -> GainRow {
    let load = scenario.pattern.load(threads, scenario.sharing);
    let policy = scenario.policy;
    let of = |policy: Policy| {
        throughput(&machines[usize::from(policy.is_patient())], &load, policy, scenario.seed)
    };
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

/// Puts what was published beside the rows.
fn join(published: &[PublishedGain], rows: &[GainRow]) -> Vec<JoinedNumber> {
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
