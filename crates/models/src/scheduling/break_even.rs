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
/// Two throughputs that differ by less are the same, in per cent: sums of the same numbers in another order differ by as much.
const ROUNDING_PERCENT: f64 = 1e-9;

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
    /// From where on it is above zero, in per cent of a thread's speed; none where it never is.
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

/// Where a rising function gets above zero, if it does so within the range; the low end where it does so from there on.
fn crossing([start, end]: [f64; 2], value: impl Fn(f64) -> f64) -> Option<f64> {
    if value(end) <= ROUNDING_PERCENT {
        return None;
    }
    if value(start) > ROUNDING_PERCENT {
        return Some(start);
    }
    let [mut low, mut high] = [start, end];
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if value(middle) > ROUNDING_PERCENT { high = middle } else { low = middle }
    }
    // Nothing below it was found that does not pay.
    Some(if low > start { f64::midpoint(low, high) } else { start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_crosses_within_the_range_at_its_low_end_or_nowhere() {
        let at = |offset: f64, slope: f64| crossing([0.0, 0.4], |sharing| slope * (sharing - offset));
        assert!((at(0.16, 100.0).unwrap() - 0.16).abs() < 1e-6);
        assert_eq!([at(0.0, 100.0), at(-0.1, 100.0)], [Some(0.0); 2], "from any gain");
        assert_eq!([at(0.5, 100.0), at(0.0, 0.0)], [None; 2], "never, and always the same");
    }
}
