//! All policies side by side: what each makes of the same threads.

use serde::Serialize;

use super::compiled::Compiled;
use super::policy::Policy;
use super::simulation::{Scenario, under};
use super::throughput::{Gain, Throughput, gain};

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

pub(super) fn policy_row(machines: &[Compiled; 2], scenario: Scenario, threads: usize) -> PolicyRow {
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
