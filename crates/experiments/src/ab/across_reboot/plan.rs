//! How many boots, and in which order: blocks that cancel a straight drift, each in random order.

use serde::{Deserialize, Serialize};
use stats::{Arm, Random, random_pairs, random_quads};

/// Boots of each arm unless asked otherwise. Source: METHODOLOGY.md, "Across reboots": 4 and 4 are the fewest that
/// carry an interval, 5 and 5 survive the loss of one.
pub const BOOTS: usize = 5;
/// Fewer boots of each arm than this have no interval at 95 %: of 4 and 4 the smallest two-sided p is 2/70.
pub const FEWEST_BOOTS: usize = 4;
/// Nobody boots more often for one answer.
pub const MOST_BOOTS: usize = 50;
/// Fewer trials in a boot tell nothing of the spread within it.
pub const FEWEST_TRIALS: usize = 2;
/// More would make a journal that is written after each trial slow.
pub const MOST_TRIALS: usize = 1000;

/// What is declared before the first boot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Of all random choices.
    pub seed: u64,
    /// The arm of each boot, in order.
    pub order: Vec<Arm>,
    /// Trials in each boot.
    pub trials: usize,
    /// Differences inside this are of no practical matter: 0.01 for 1 %.
    pub margin: f64,
    /// The machine may take so many seconds to settle before a boot is measured.
    pub settle_s: f64,
}

/// The order of `boots` boots of each arm: blocks ABBA or BAAB at random, and a pair AB or BA for an odd number.
///
/// Within a block a straight drift of the machine cancels, and neighbours of one arm need no change between them. Boots
/// that can be exchanged make the rank-sum test exact under any order; drift makes it cautious under this one.
pub fn order(boots: usize, seed: u64) -> Vec<Arm> {
    let mut random = Random::new(seed);
    let blocks = random_quads(boots / 2, &mut random);
    let pair = random_pairs(boots % 2, &mut random);
    if random.bool() { [pair, blocks].concat() } else { [blocks, pair].concat() }
}

impl Plan {
    /// Boots that are planned in all.
    pub fn boots(&self) -> usize {
        self.order.len()
    }

    /// Boots of each arm.
    pub fn boots_per_arm(&self) -> usize {
        self.order.len() / 2
    }

    /// What the plan cannot give, before it is begun.
    pub fn cautions(&self) -> Vec<String> {
        let boots = self.boots_per_arm();
        let mut found = Vec::new();
        if boots == 1 {
            found.push(
                "no inference is possible from one boot against one: the boots themselves differ; give --boots 4 or more"
                    .to_owned(),
            );
        } else if boots < FEWEST_BOOTS {
            found.push(format!(
                "{boots} boots against {boots} carry no interval at 95 %, and no verdict; give --boots 4 or more"
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_balanced_and_straight_drift_cancels_in_its_blocks() {
        for boots in 1..=MOST_BOOTS {
            for seed in 0..20 {
                let order = order(boots, seed);
                let of_a = order.iter().filter(|arm| **arm == Arm::A).count();
                assert_eq!((order.len(), of_a), (2 * boots, boots), "{boots} {seed}");
                let drift: f64 = (0..order.len())
                    .map(|place| if order[place] == Arm::A { -(place as f64) } else { place as f64 })
                    .sum();
                assert!(drift.abs() <= 1.0, "{boots} {seed}: {drift}");
            }
        }
    }

    #[test]
    fn both_beginnings_occur_and_equal_seeds_give_equal_orders() {
        let first = |seed| order(5, seed)[0];
        let of_a = (0..200).filter(|seed| first(*seed) == Arm::A).count();
        assert!((80..=120).contains(&of_a), "{of_a} of 200 begin with A");
        assert_eq!(order(5, 7), order(5, 7));
    }
}
