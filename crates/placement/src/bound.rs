//! Upper bounds for units of more than two: prices against all groups, else triangles or the best partners of each thread.

use crate::branch;
use crate::certificate::{Certificate, Price};
use crate::heaviest::Market;
use crate::problem::{Level, Problem};
use crate::programme::{self, Programme};
use crate::subsets::{Charges, Sizes};
use crate::triangles::{self, Proven};

/// Multiplications for the programme over groups: some tenths of a second.
const WORK_MAX: u64 = 700_000_000;
/// The same where groups are searched for and not looked at one by one, with all cases that it is split into.
const SEARCH_WORK_MAX: u64 = 600_000_000;
/// Looks at groups to see what known prices prove for another number of units: some hundredths of a second.
const KNOWN_LOOKS_MAX: u64 = 3_000_000;
/// Groups of more threads are not searched for: a step of the simplex method costs some hundred thousand multiplications then.
const SEARCH_THREADS_MAX: usize = 160;
/// Multiplications for splitting into cases, as many again.
const SPLIT_WORK_MAX: u64 = 500_000_000;
/// Rounds of shifting shares between the two threads of a pair.
const SHARE_ROUNDS: usize = 400;

/// Prices of threads, and the bound that they prove on the sum of pair values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prices {
    pub(crate) of_thread: Vec<f64>,
    /// A group that has two or three of a triple pays for it.
    pub(crate) of_triple: Vec<([usize; 3], f64)>,
    pub(crate) bound: f64,
}

/// A bound, what proves it, and groups that looked good meanwhile.
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) certificate: Certificate,
    pub(crate) chosen: Vec<Vec<usize>>,
}

/// The groups of a placement, empty ones left out.
pub(crate) fn groups(unit_of: &[usize], units: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); units];
    for (thread, unit) in unit_of.iter().enumerate() {
        members[*unit].push(thread);
    }
    members.retain(|group: &Vec<usize>| !group.is_empty());
    members
}

/// A bound on a problem of one level, the better the nearer it comes to `value`, that of a known placement.
pub(crate) fn of_one_level(problem: &Problem, unit_of: &[usize], value: f64, seed: u64) -> Bound {
    let sizes = sizes(problem);
    let looks_at_all = programme::looks_at_all(problem.threads(), sizes);
    if !looks_at_all && problem.threads() > SEARCH_THREADS_MAX {
        return of_pairs(problem, value);
    }
    let start = groups(unit_of, problem.units());
    // The number of units of the known placement first: its prices often do for the others.
    let used = start.len();
    let programme = Programme {
        pairs: &problem.levels()[0].pairs,
        sizes,
        groups: used,
        start,
        good_enough: value + (value.abs() + problem.levels()[0].pairs.largest()) * 1e-10,
        work_max: if looks_at_all { WORK_MAX } else { SEARCH_WORK_MAX },
    };
    let (bound, is_cut_short) = if sizes.least == sizes.most {
        of_full(problem, programme, seed)
    } else {
        of_any_units(problem, programme, seed)
    };
    let by_pairs = is_cut_short.then(|| of_pairs(problem, value));
    match by_pairs.filter(|by_pairs| by_pairs.value < bound.value) {
        Some(by_pairs) => Bound { chosen: bound.chosen, ..by_pairs },
        None => or_shares(problem, bound),
    }
}

/// Where all places are taken; and whether the work ran out in the midst of a proof.
fn of_full(problem: &Problem, mut programme: Programme<'_>, seed: u64) -> (Bound, bool) {
    let awake = problem.awake_value(programme.groups);
    programme.good_enough -= awake;
    let solved = programme::solve(&programme, seed);
    let chosen = solved.chosen.iter().map(|(_, group)| group.clone()).collect();
    let is_cut_short = solved.is_cut_short;
    let split_work = if programme.looks_at_all() {
        SPLIT_WORK_MAX
    } else if is_cut_short {
        0
    } else {
        programme.work_max.saturating_sub(solved.work)
    };
    let (bound, branches) = branch::split(&programme, solved, split_work, seed);
    (Bound { value: bound + awake, certificate: Certificate::of(branches), chosen }, is_cut_short)
}

/// Where places stay empty, for each number of units that may be in use; and whether the work ran out in the midst of a proof.
fn of_any_units(problem: &Problem, mut programme: Programme<'_>, seed: u64) -> (Bound, bool) {
    let (used, goal) = (programme.groups, programme.good_enough);
    let others = problem.usable_units().filter(|units| *units != used);
    let (mut chosen, mut prices, mut is_cut_short) = (Vec::new(), Vec::<Price>::new(), false);
    let mut value = f64::NEG_INFINITY;
    if !programme.looks_at_all() {
        programme.work_max /= 1 + others.clone().count() as u64;
    }
    for units in std::iter::once(used).chain(others) {
        let awake = problem.awake_value(units);
        let by_known = prices.iter().map(|known| (bound_by(&programme, known, units), known.clone()));
        let by_known = by_known.min_by(|one, other| one.0.total_cmp(&other.0));
        if let Some((bound, known)) = by_known.filter(|(bound, _)| bound + awake <= value.max(goal)) {
            prices.push(Price { units, ..known });
            value = value.max(bound + awake);
            continue;
        }
        programme.groups = units;
        programme.good_enough = value.max(goal) - awake;
        let solved = programme::solve(&programme, seed);
        is_cut_short |= solved.is_cut_short;
        if units == used {
            chosen = solved.chosen.iter().map(|(_, group)| group.clone()).collect();
        }
        value = value.max(solved.prices.bound + awake);
        let Prices { of_thread, of_triple, .. } = solved.prices;
        prices.push(Price { units, of_thread, of_triple });
    }
    (Bound { value, certificate: Certificate::Groups(prices), chosen }, is_cut_short)
}

/// The bound by best partners if it is the lower one.
fn or_shares(problem: &Problem, bound: Bound) -> Bound {
    let of_shares = of_shares(problem);
    if of_shares.value < bound.value { Bound { chosen: bound.chosen, ..of_shares } } else { bound }
}

fn sizes(problem: &Problem) -> Sizes {
    let is_full = problem.threads() == problem.units() * problem.capacity();
    Sizes { least: if is_full { problem.capacity() } else { 1 }, most: problem.capacity() }
}

/// What prices that were found for another number of units prove for this one.
fn bound_by(programme: &Programme<'_>, price: &Price, units: usize) -> f64 {
    let most = if programme.looks_at_all() {
        Charges::new(programme.pairs, &price.of_thread, &price.of_triple)
            .best(programme.sizes, f64::INFINITY)
            .1
    } else {
        let market = Market::new(programme.pairs, programme.sizes, &price.of_thread, &price.of_triple);
        let (found, _) = market.by_swaps(&[], f64::NEG_INFINITY, KNOWN_LOOKS_MAX);
        let known = found.iter().map(|group| group.excess).fold(f64::NEG_INFINITY, f64::max);
        market.by_bounds(known, KNOWN_LOOKS_MAX).bound
    };
    price.sum() + units as f64 * most
}

/// The lower one of the bounds by triangles and by best partners, where no group is looked at.
fn of_pairs(problem: &Problem, value: f64) -> Bound {
    let of_shares = of_shares(problem);
    let sizes = sizes(problem);
    let good_enough = value - best_awake(problem);
    match triangles::solve(&problem.levels()[0], sizes.least == sizes.most, good_enough) {
        Some(Proven { bound, of_thread, triangles }) if bound + best_awake(problem) < of_shares.value => {
            Bound {
                value: bound + best_awake(problem),
                certificate: Certificate::Triangles { of_thread, triangles },
                chosen: Vec::new(),
            }
        }
        _ => of_shares,
    }
}

/// The bound by best partners on the smallest level, with the best number of units in use.
pub(crate) fn of_shares(problem: &Problem) -> Bound {
    let (of_pairs, shares) = shares(&problem.levels()[0]);
    Bound {
        value: of_pairs + best_awake(problem),
        certificate: Certificate::Shares(shares),
        chosen: Vec::new(),
    }
}

fn best_awake(problem: &Problem) -> f64 {
    problem.usable_units().map(|units| problem.awake_value(units)).fold(f64::NEG_INFINITY, f64::max)
}

/// Splits the value of each pair between its two threads so that the best `capacity - 1` shares of all add up to little.
///
/// If one of a pair counts it among its best and the other does not, the one has too large a share: it is shifted, by ever
/// less.
pub(crate) fn shares(level: &Level) -> (f64, Vec<Vec<f64>>) {
    let threads = level.pairs.threads();
    let mut shares: Vec<Vec<f64>> = (0..threads)
        .map(|thread| level.pairs.row(thread).iter().map(|value| value / 2.0).collect())
        .collect();
    let mut best = (f64::INFINITY, shares.clone());
    for round in 0..SHARE_ROUNDS {
        let mut counted = vec![vec![false; threads]; threads];
        let mut bound = 0.0;
        for (thread, row) in shares.iter().enumerate() {
            let mut order: Vec<usize> =
                (0..threads).filter(|other| *other != thread && row[*other] > 0.0).collect();
            order.sort_by(|one, other| row[*other].total_cmp(&row[*one]));
            for other in order.into_iter().take(level.capacity - 1) {
                counted[thread][other] = true;
                bound += row[other];
            }
        }
        if bound < best.0 {
            best = (bound, shares.clone());
        }
        let step = 0.25 / (1.0 + round as f64 / 8.0);
        for first in 0..threads {
            for second in first + 1..threads {
                if counted[first][second] != counted[second][first] {
                    let shift = step * level.pairs.of(first, second).abs() / 2.0;
                    let shift = if counted[first][second] { -shift } else { shift };
                    shares[first][second] += shift;
                    shares[second][first] -= shift;
                }
            }
        }
    }
    best
}
