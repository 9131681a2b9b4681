//! Units of two: maximum-weight matching, exact, with its duals as proof.
//!
//! An empty place is an item like a thread, worth nothing beside anybody. Where it matters how many units are in use, that
//! number fixes how many empty places are beside threads; the best weight is concave in it, so that few numbers need a matching.

use std::collections::BTreeMap;

use crate::certificate::{Certificate, MatchingPrices};
use crate::matching::{Graph, matching};
use crate::problem::{PairValues, Problem};

/// Values become whole numbers of this many steps: 2^40, so that rounding stays below 1e-9 of the value of any placement.
const STEPS: f64 = 1_099_511_627_776.0;
/// What is smaller is rounding.
const ROUNDING: f64 = 1e-9;

/// A placement, its value, and what proves that none is better.
pub(crate) struct Exact {
    pub(crate) unit_of: Vec<usize>,
    pub(crate) bound: f64,
    pub(crate) certificate: Certificate,
}

struct Matched {
    partner: Vec<usize>,
    prices: MatchingPrices,
}

/// The best placement on units of two.
pub(crate) fn solve(problem: &Problem) -> Option<Exact> {
    let pairs = &problem.levels()[0].pairs;
    if problem.ignores_awake() {
        let matched = of_units(pairs, 2 * problem.units(), None)?;
        let bound = matched.prices.bound + problem.awake_value(*problem.usable_units().start());
        let unit_of = units_of(&matched.partner, problem.threads());
        return Some(Exact { unit_of, bound, certificate: Certificate::Matching(vec![matched.prices]) });
    }
    let range = problem.usable_units();
    let mut known: BTreeMap<usize, Matched> = BTreeMap::new();
    for units in [*range.start(), *range.end(), usize::midpoint(*range.start(), *range.end())] {
        known.insert(units, of_units(pairs, 2 * units, Some(units))?);
    }
    loop {
        let value = |units: &usize, matched: &Matched| matched.prices.bound + problem.awake_value(*units);
        let best =
            known.iter().map(|(units, matched)| value(units, matched)).fold(f64::NEG_INFINITY, f64::max);
        let open = range.clone().filter(|units| !known.contains_key(units));
        let hopes = open.map(|units| (units, ceiling(&known, units) + problem.awake_value(units)));
        let tolerance = ROUNDING * pairs.largest().max(best.abs());
        match hopes.max_by(|one, other| one.1.total_cmp(&other.1)) {
            Some((units, hope)) if hope > best + tolerance => {
                known.insert(units, of_units(pairs, 2 * units, Some(units))?);
            }
            hope => {
                let bound = hope.map_or(best, |(_, hope)| hope.max(best));
                let best_first = |one: &(&usize, &Matched)| value(one.0, one.1);
                let chosen = known.iter().max_by(|one, other| best_first(one).total_cmp(&best_first(other)));
                let unit_of = units_of(&chosen?.1.partner, problem.threads());
                let prices = known.into_values().map(|matched| matched.prices).collect();
                return Some(Exact { unit_of, bound, certificate: Certificate::Matching(prices) });
            }
        }
    }
}

/// What a concave function through known points is at most in between or beyond.
fn ceiling(known: &BTreeMap<usize, Matched>, units: usize) -> f64 {
    let along = |near: (&usize, &Matched), far: (&usize, &Matched)| {
        let slope = (near.1.prices.bound - far.1.prices.bound) / (*near.0 as f64 - *far.0 as f64);
        near.1.prices.bound + slope * (units as f64 - *near.0 as f64)
    };
    let mut below = known.range(..units).rev();
    let mut above = known.range(units..);
    let from_below = below.next().zip(below.next()).map(|(near, far)| along(near, far));
    let from_above = above.next().zip(above.next()).map(|(near, far)| along(near, far));
    from_below.into_iter().chain(from_above).fold(f64::INFINITY, f64::min)
}

/// The best matching of threads and empty places; with a number of units in use, no two empty places together.
fn of_units(pairs: &PairValues, items: usize, units: Option<usize>) -> Option<Matched> {
    let threads = pairs.threads();
    let value = |first: usize, second: usize| {
        if first.max(second) < threads { pairs.of(first, second) } else { 0.0 }
    };
    // Values that are all next to nothing stay so.
    let scale = Some(STEPS / pairs.largest()).filter(|scale| scale.is_finite()).unwrap_or(STEPS);
    // Weights of all pairs that may be matched are positive.
    let shift = STEPS as i64 + 1;
    let graph = Graph::from_fn(items, |first, second| {
        let both_empty = first.min(second) >= threads;
        if both_empty && units.is_some() { 0 } else { (value(first, second) * scale).round() as i64 + shift }
    });
    let (partner, duals) = matching(&graph)?;
    // Half a step of rounding per pair; a shift is in each item's price by half.
    let rounding = if pairs.largest() > 0.0 { 0.25 } else { 0.0 };
    let price = |dual: i64| (dual as f64 / 2.0 - shift as f64 / 2.0 + rounding) / scale;
    let of_item: Vec<f64> = duals.vertex.iter().map(|dual| price(*dual)).collect();
    let of_set: Vec<(Vec<usize>, f64)> =
        duals.sets.into_iter().map(|(members, dual)| (members, dual as f64 / 2.0 / scale)).collect();
    let of_sets: f64 = of_set.iter().map(|(members, price)| price * ((members.len() - 1) / 2) as f64).sum();
    let bound = of_item.iter().sum::<f64>() + of_sets;
    Some(Matched { partner, prices: MatchingPrices { units, of_item, of_set, bound } })
}

/// Units in the order of their first thread.
fn units_of(partner: &[usize], threads: usize) -> Vec<usize> {
    let mut unit_of = vec![usize::MAX; partner.len()];
    let mut next = 0;
    for item in 0..threads {
        if unit_of[item] == usize::MAX {
            unit_of[item] = next;
            unit_of[partner[item]] = next;
            next += 1;
        }
    }
    unit_of.truncate(threads);
    unit_of
}
