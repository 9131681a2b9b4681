//! How much threads must gain from shared data until packing them beats spreading them.

use serde::Serialize;

use super::compiled::Compiled;
use super::description::SchedulingMachine;
use super::policy::Policy;
use super::simulation::Scenario;
use super::throughput::{gain, throughput};

/// Points of the curve.
const POINTS: usize = 9;
/// Halvings of the interval in which the break-even lies: to a millionth of it.
const HALVINGS: usize = 20;

/// One strength of sharing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PackingPoint {
    /// What a thread gains from its partner's data, in per cent of its speed.
    pub sharing_percent: f64,
    /// Pairs packed over threads spread.
    pub gain_of_packing_percent: f64,
    /// The same with the clock of all units awake.
    pub gain_of_packing_without_turbo_percent: f64,
}

/// Packing against spreading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Packing {
    /// How many threads, in pairs.
    pub threads: usize,
    /// The curve.
    pub points: Vec<PackingPoint>,
    /// Where it crosses zero, in per cent of a thread's speed; none where it does not.
    pub break_even_percent: Option<f64>,
    /// The same without turbo.
    pub break_even_without_turbo_percent: Option<f64>,
}

/// The curve over the scenario's range of sharing, with its largest number of threads.
pub fn packing(machine: &SchedulingMachine, scenario: Scenario) -> Packing {
    let threads = scenario.threads[1];
    let with_turbo = Compiled::new(machine, false);
    let without_turbo = Compiled::new(&machine.without_turbo(), false);
    let gain_percent = |machine: &Compiled, sharing: f64| {
        let load = scenario.pattern.load(threads, scenario.class, sharing);
        let [packed, spread] = [Policy::Pack, Policy::ModulesFirst]
            .map(|policy| throughput(machine, &load, policy, scenario.seed));
        gain(&packed, &spread).percent
    };
    let [low, high] = scenario.sharing;
    let point = |index: usize| {
        let sharing = low + (high - low) * index as f64 / (POINTS - 1) as f64;
        PackingPoint {
            sharing_percent: sharing * 100.0,
            gain_of_packing_percent: gain_percent(&with_turbo, sharing),
            gain_of_packing_without_turbo_percent: gain_percent(&without_turbo, sharing),
        }
    };
    let break_even = |machine: &Compiled| {
        crossing([low, high], |sharing| gain_percent(machine, sharing)).map(|sharing| sharing * 100.0)
    };
    Packing {
        threads,
        points: (0..POINTS).map(point).collect(),
        break_even_percent: break_even(&with_turbo),
        break_even_without_turbo_percent: break_even(&without_turbo),
    }
}

/// Where a rising function crosses zero, if it does so within the range.
fn crossing([mut low, mut high]: [f64; 2], value: impl Fn(f64) -> f64) -> Option<f64> {
    if value(low) > 0.0 || value(high) < 0.0 {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if value(middle) < 0.0 { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}
