//! How much partners must gain from shared data until packing them into one unit beats spreading them over several.
//!
//! The unit is of the largest level that holds such data: partners apart have none of them in reach. Both placements are plans that
//! threads are pinned to, so that partners stay where they are put, and both use idle units before they share busy ones.

use serde::Serialize;

use super::compiled::Compiled;
use super::description::{Class, Policy, SchedulingMachine};
use super::load::Scenario;
use super::plan::planned;
use super::throughput::{gain, throughput_of_plan};

/// Points of the curve.
const POINTS: usize = 9;
/// Halvings of the interval in which the break-even lies: to a millionth of it.
const HALVINGS: usize = 20;
/// Two throughputs that differ by less are the same, in per cent: sums of the same numbers in another order differ by as much.
const ROUNDING_PERCENT: f64 = 1e-9;

/// One strength of sharing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackingPoint {
    /// What a thread gains from its partner's data, in per cent of its speed.
    pub sharing_percent: f64,
    /// Partners packed over partners spread.
    pub gain_of_packing_percent: f64,
    /// The same with the clock of all units awake.
    pub gain_of_packing_without_turbo_percent: f64,
}

/// Packing against spreading.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Packing {
    /// How many threads, in pairs.
    pub threads: usize,
    /// The level of units: packed partners share one, spread ones do not.
    pub level: String,
    /// The curve.
    pub points: Vec<PackingPoint>,
    /// From where on it is above zero, in per cent of a thread's speed; none where it never is.
    pub break_even_percent: Option<f64>,
    /// The same without turbo.
    pub break_even_without_turbo_percent: Option<f64>,
}

/// The curve over the scenario's range of sharing, with its largest number of threads; none where sharing a unit of no level makes
/// a difference.
pub fn packing(machine: &SchedulingMachine, scenario: Scenario) -> Option<Packing> {
    let level = machine.sharing_level()?.name.clone();
    let level_index = machine.level_of(&level)?;
    let threads = scenario.threads[1];
    let with_turbo = Compiled::new(machine, false);
    let without_turbo = Compiled::new(&machine.without_turbo(), false);
    let [low, high] = scenario.sharing;
    // Partners are partners also where they gain nothing.
    let partners = scenario.pattern.load(threads, Class::Integer, high);
    let plans = [threads / 2, 0].map(|together| planned(&with_turbo, &partners, level_index, together));
    let gain_percent = |machine: &Compiled, sharing: f64| {
        let load = scenario.pattern.load(threads, Class::Integer, sharing);
        let [packed, spread] = plans
            .each_ref()
            .map(|plan| throughput_of_plan(machine, &load, Policy::Pinned, plan, scenario.seed));
        gain(&packed, &spread).percent
    };
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
    Some(Packing {
        threads,
        level,
        points: (0..POINTS).map(point).collect(),
        break_even_percent: break_even(&with_turbo),
        break_even_without_turbo_percent: break_even(&without_turbo),
    })
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
