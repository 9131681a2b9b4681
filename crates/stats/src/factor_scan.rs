//! Which properties of units explain their deviations: every level of every factor against all units, metric by metric; the
//! strongest is subtracted, and the scan repeated.
//!
//! A limit for each unit cannot see what shifts many units by little. A level's median can: its standard error falls with the
//! number of units. Its spread is never taken to be below that of the whole metric: without this floor 13 of 30 levels of eight
//! healthy units were reported. And three quarters of a level's units must lie where units outside hardly ever do: numbers that have
//! several states, as those of real check-ups do, put the median of eight units into the rarer state often.

use crate::binomial::incomplete_beta;
use crate::deviations::median_of;
use crate::quantile::MAD_TO_STANDARD_DEVIATION;
use crate::{Deviations, median};

/// Units of a level below which it is not judged.
pub const FEWEST_UNITS: usize = 4;
/// A metric is hit if the level differs by more than this share,
const LEAST_EFFECT: f32 = 0.005;
/// and by more than this many standard errors: 2e-9 for each of some 1e5 cells, were they normal.
const STANDARD_ERRORS: f32 = 6.0;
/// Standard error of a median over that of a mean, normal: the root of pi / 2.
const OF_A_MEDIAN: f32 = 1.2533;
/// Units drawn at random from those outside would lie so in this share of the draws at most: one in ten for 1e5 cells, and a level
/// needs two metrics.
const DRAWN: f64 = 1e-6;
/// A level is reported from this many metrics on,
const FEWEST_HITS: usize = 2;
/// or from this share of them.
const LEAST_HITS: f64 = 0.005;
/// More levels than these are not explained one by one.
const MOST_LEVELS: usize = 12;

/// A level that explains deviations.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// Which of those given.
    pub level: usize,
    /// Its units that count.
    pub units: usize,
    /// Metrics with enough of its units.
    pub tested: usize,
    /// The metrics that differ, with the difference to the units outside as a logarithm: above 0 is worse.
    pub hits: Vec<(usize, f64)>,
}

/// Units in both of two sets, and in one only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    pub both: usize,
    pub first: usize,
    pub second: usize,
}

impl Crossing {
    /// Of two ascending sets.
    pub fn of(first: &[u32], second: &[u32]) -> Self {
        let both = first.iter().filter(|unit| second.binary_search(unit).is_ok()).count();
        Self { both, first: first.len() - both, second: second.len() - both }
    }

    /// Share of the units of both that are in both (Jaccard).
    pub fn likeness(self) -> f64 {
        self.both as f64 / (self.both + self.first + self.second).max(1) as f64
    }

    /// Whether two effects can be separated: the sets share no unit, or each part has enough of them.
    pub fn is_separable(self) -> bool {
        self.both == 0 || [self.both, self.first, self.second].iter().all(|units| *units >= FEWEST_UNITS)
    }
}

/// A level's state during the scan.
struct Candidate {
    level: usize,
    /// Its units that count.
    units: Vec<u32>,
    tested: usize,
    hits: Vec<usize>,
}

/// The levels that explain deviations, the strongest first; their effects are subtracted from `deviations`. A level is the units
/// that are at it, of any factor; levels may overlap.
///
/// Only units that count are looked at. Metrics are centred and spreads taken anew after each step, by units that count; a metric
/// has at least `fewest` of them.
pub fn peeled(
    deviations: &mut Deviations,
    levels: &[Vec<u32>],
    counts: &[bool],
    fewest: usize,
) -> Vec<Explained> {
    let mut candidates = candidates(levels, counts);
    let mut found: Vec<Explained> = Vec::new();
    let mut metrics: Vec<usize> = (0..deviations.metrics()).collect();
    while found.len() < MOST_LEVELS {
        scan(&mut candidates, deviations, &metrics, counts);
        let Some(best) = strongest(&candidates) else { break };
        let hits: Vec<(usize, f64)> = best
            .hits
            .iter()
            .map(|metric| (*metric, f64::from(difference(deviations, *metric, &best.units, counts))))
            .collect();
        for (metric, effect) in &hits {
            deviations.shift(*metric, &levels[best.level], -*effect as f32);
            deviations.centre(*metric, counts, fewest);
        }
        metrics.clone_from(&best.hits);
        match found.iter_mut().find(|one| one.level == best.level) {
            Some(known) => known.hits.extend(hits),
            None => found.push(Explained {
                level: best.level,
                units: best.units.len(),
                tested: best.tested,
                hits,
            }),
        }
    }
    found
}

fn candidates(levels: &[Vec<u32>], counts: &[bool]) -> Vec<Candidate> {
    let total = counts.iter().filter(|counts| **counts).count();
    let counted = levels.iter().enumerate().map(|(level, units)| {
        let units: Vec<u32> = units.iter().copied().filter(|unit| counts[*unit as usize]).collect();
        Candidate { level, units, tested: 0, hits: Vec::new() }
    });
    // What most units have is what the others are compared with.
    counted.filter(|one| one.units.len() >= FEWEST_UNITS && 2 * one.units.len() <= total).collect()
}

/// Tests these metrics of each candidate anew.
fn scan(candidates: &mut [Candidate], deviations: &Deviations, metrics: &[usize], counts: &[bool]) {
    let is_whole = metrics.len() == deviations.metrics();
    let (mut values, mut all) = (Vec::new(), Vec::new());
    for one in candidates.iter_mut() {
        one.hits.retain(|hit| !is_whole && metrics.binary_search(hit).is_err());
    }
    for metric in metrics.iter().copied().filter(|metric| deviations.spread(*metric) > 0.0) {
        let (of_metric, spread) = (deviations.metric(metric), deviations.spread(metric));
        all.clear();
        all.extend(
            of_metric.iter().zip(counts).filter(|(v, counts)| **counts && v.is_finite()).map(|(v, _)| *v),
        );
        all.sort_unstable_by(f32::total_cmp);
        for one in candidates.iter_mut() {
            values.clear();
            values.extend(one.units.iter().map(|unit| of_metric[*unit as usize]).filter(|v| v.is_finite()));
            if values.len() < FEWEST_UNITS {
                continue;
            }
            one.tested += usize::from(is_whole);
            if is_hit(&mut values, spread) && is_rare(&values, &all) {
                one.hits.push(metric);
            }
        }
    }
    for one in candidates {
        one.hits.sort_unstable();
    }
}

/// Whether the median of these values is far enough from 0; their order changes. The spread of the whole metric comes first, as it
/// costs nothing.
fn is_hit(values: &mut [f32], spread: f32) -> bool {
    let error = |spread: f32, count: usize| OF_A_MEDIAN * spread / (count as f32).sqrt();
    let centre = median_of(values);
    if centre.abs() <= LEAST_EFFECT || centre.abs() <= STANDARD_ERRORS * error(spread, values.len()) {
        return false;
    }
    let mut distances: Vec<f32> = values.iter().map(|value| (value - centre).abs()).collect();
    let own = MAD_TO_STANDARD_DEVIATION as f32 * median_of(&mut distances);
    centre.abs() > STANDARD_ERRORS * error(own, values.len())
}

/// Whether units drawn from those outside would hardly ever lie as three quarters of these do, which are some of all, ascending.
fn is_rare(values: &[f32], all: &[f32]) -> bool {
    let mut own = values.to_vec();
    own.sort_unstable_by(f32::total_cmp);
    let inside = (3 * own.len()).div_ceil(4);
    let is_worse = own[own.len() / 2] > 0.0;
    // So many of all are as far out as the least of the three quarters; of those inside it is at least these.
    let beyond = |ascending: &[f32], edge: f32| {
        if is_worse {
            ascending.len() - ascending.partition_point(|value| *value < edge)
        } else {
            ascending.partition_point(|value| *value <= edge)
        }
    };
    let edge = if is_worse { own[own.len() - inside] } else { own[inside - 1] };
    let outside = (all.len() - own.len()).max(1);
    let share = (beyond(all, edge) - beyond(&own, edge) + 1) as f64 / (outside + 1) as f64;
    // At least `inside` of as many draws as there are units.
    share < 1.0 && incomplete_beta(inside as f64, (own.len() - inside + 1) as f64, share) <= DRAWN
}

/// The level with the most units times metrics; the first of equals.
fn strongest(candidates: &[Candidate]) -> Option<&Candidate> {
    let is_reported = |one: &&Candidate| {
        one.hits.len() >= FEWEST_HITS && one.hits.len() as f64 >= LEAST_HITS * one.tested as f64
    };
    let weight = |one: &Candidate| one.units.len() * one.hits.len();
    candidates
        .iter()
        .filter(is_reported)
        .reduce(|best, one| if weight(one) > weight(best) { one } else { best })
}

/// How much a level differs from the units outside.
fn difference(deviations: &Deviations, metric: usize, level: &[u32], counts: &[bool]) -> f32 {
    let values = deviations.metric(metric);
    let mut is_inside = vec![false; values.len()];
    for unit in level {
        is_inside[*unit as usize] = true;
    }
    let side = |inside: bool| {
        let units = (0..values.len()).filter(|unit| counts[*unit] && is_inside[*unit] == inside);
        median_of(&mut units.map(|unit| values[unit]).filter(|value| value.is_finite()).collect::<Vec<_>>())
    };
    side(true) - side(false)
}

impl Explained {
    /// The median of the differences.
    pub fn effect(&self) -> f64 {
        median(&self.hits.iter().map(|(_, effect)| *effect).collect::<Vec<_>>()).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::deviations::tests::{centred, healthy};

    const UNITS: usize = 512;

    /// Slots of eight (from 0), racks of 64 (from 8), chassis of eight (from 16), and two halves by a rule without meaning (from 80).
    fn levels() -> Vec<Vec<u32>> {
        let by = |levels: u32, of: &dyn Fn(u32) -> u32| -> Vec<Vec<u32>> {
            (0..levels).map(|level| (0..UNITS as u32).filter(|unit| of(*unit) == level).collect()).collect()
        };
        let slots = by(8, &|unit| unit % 8);
        let halves = by(2, &|unit| unit * 7 / 3 % 2);
        [slots, by(8, &|unit| unit / 64), by(64, &|unit| unit / 8), halves].concat()
    }

    fn shifted(metrics: std::ops::Range<usize>, by: f32, level: usize, seed: u64) -> Deviations {
        let mut all = healthy(UNITS, 120, seed % 2 == 1, seed);
        metrics.for_each(|metric| all.shift(metric, &levels()[level], by));
        centred(all)
    }

    #[test]
    fn healthy_units_have_no_level_that_explains_anything() {
        for seed in 0..4 {
            let mut all = shifted(0..0, 0.0, 0, seed);
            assert_eq!(peeled(&mut all, &levels(), &[true; UNITS], 20), [], "{seed}");
        }
    }

    #[test]
    fn a_slow_slot_is_found_with_its_effect_and_is_gone_afterwards() {
        for seed in 0..4 {
            let mut all = shifted(10..50, 0.02, 3, seed);
            let found = peeled(&mut all, &levels(), &[true; UNITS], 20);
            assert_eq!(found.len(), 1, "{seed}: {found:?}");
            assert_eq!((found[0].level, found[0].units, found[0].tested), (3, 64, 120));
            assert!(found[0].hits.len() >= 38 && (found[0].effect() - 0.02).abs() < 0.002, "{found:?}");
            assert_eq!(peeled(&mut all, &levels(), &[true; UNITS], 20), [], "{seed}");
        }
    }

    #[test]
    fn states_of_healthy_units_are_no_property_of_a_level() {
        for seed in 0..4 {
            let mut all = healthy(UNITS, 120, false, seed);
            let mut random = crate::Random::new(seed + 100);
            let slow: Vec<u32> = (0..UNITS as u32).filter(|_| random.unit() < 0.43).collect();
            (0..80).for_each(|metric| all.shift(metric, &slow, 0.08));
            assert_eq!(peeled(&mut centred(all), &levels(), &[true; UNITS], 20), [], "{seed}");
        }
    }

    #[test]
    fn two_halves_that_differ_are_one_finding() {
        let mut all = shifted(0..30, 0.03, 81, 2);
        let found = peeled(&mut all, &levels(), &[true; UNITS], 20);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].level >= 80 && (found[0].effect().abs() - 0.03).abs() < 0.003, "{found:?}");
    }

    #[test]
    fn sets_that_are_the_same_cannot_be_separated_and_crossed_ones_can() {
        let crossing = |a: &[u32], b: &[u32]| Crossing::of(a, b);
        let (low, high): (Vec<u32>, Vec<u32>) = ((0..20).collect(), (10..30).collect());
        assert!(crossing(&low, &high).is_separable() && crossing(&low, &high[10..]).is_separable());
        assert!(!crossing(&low, &low).is_separable() && !crossing(&low, &low[..15]).is_separable());
        assert!((crossing(&low, &low[..18]).likeness() - 0.9).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn the_order_of_units_changes_nothing(seed in 0..100_u64) {
            let mut order: Vec<u32> = (0..UNITS as u32).collect();
            crate::Random::new(seed).shuffle(&mut order);
            let straight = shifted(10..40, 0.03, 10, 4);
            let mut shuffled = Deviations::new(UNITS, straight.metrics());
            for metric in 0..straight.metrics() {
                for (unit, value) in straight.metric(metric).iter().enumerate() {
                    shuffled.set(metric, order[unit] as usize, *value);
                }
            }
            let moved: Vec<Vec<u32>> = levels()
                .iter()
                .map(|level| level.iter().map(|unit| order[*unit as usize]).collect())
                .collect();
            let found = peeled(&mut straight.clone(), &levels(), &[true; UNITS], 20);
            let other = peeled(&mut centred(shuffled), &moved, &[true; UNITS], 20);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(
                found.iter().map(|one| (one.level, one.hits.len())).collect::<Vec<_>>(),
                other.iter().map(|one| (one.level, one.hits.len())).collect::<Vec<_>>()
            );
        }
    }
}
