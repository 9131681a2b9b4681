//! The way to an answer: exact where that is possible, else a search and a bound, each helping the other.

use crate::bound::{self, groups};
use crate::certificate::{Certificate, Proof};
use crate::problem::{Level, PairValues, Problem};
use crate::{exhaustive, pairs, search};

/// What an answer may cost; equal efforts give equal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Swaps that the search looks at.
    pub swaps: u64,
    /// Of all that is drawn.
    pub seed: u64,
}

impl Default for Effort {
    /// Some tenths of a second.
    fn default() -> Self {
        Self { swaps: 30_000_000, seed: 1 }
    }
}

/// A placement and how good it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The smallest unit of each thread.
    pub unit_of: Vec<usize>,
    /// Its value.
    pub value: f64,
    /// No placement has a larger value.
    pub bound: f64,
    /// Why not.
    pub certificate: Certificate,
    /// Sums of such values differ by as much for rounding alone.
    pub rounding: f64,
}

/// Rounding, as a share of the largest value of a pair or of the whole.
const ROUNDING: f64 = 1e-9;

impl Answer {
    /// How far the value may be from the best, as a share of the bound's size; 0 if it is the best but for rounding, infinite for
    /// a bound of 0.
    pub fn gap(&self) -> f64 {
        let away = self.bound - self.value;
        if away <= self.rounding { 0.0 } else { away / self.bound.abs() }
    }

    /// Which bound proved it.
    pub fn proof(&self) -> Proof {
        self.certificate.proof()
    }
}

/// The best placement that is found, with a bound.
pub fn solve(problem: &Problem, effort: Effort) -> Answer {
    if problem.levels().len() == 1 {
        return one_level(problem, effort);
    }
    let starts = contracted(problem);
    let unit_of = search::solve(problem, &starts, effort.swaps, effort.seed);
    let (bound, certificates) = sum_of_levels(problem, effort);
    answer(problem, unit_of, bound, Certificate::Levels(certificates))
}

fn answer(problem: &Problem, unit_of: Vec<usize>, bound: f64, certificate: Certificate) -> Answer {
    let value = problem.value(&unit_of).expect("placements fit by construction");
    let largest = problem.levels().iter().map(|level| level.pairs.largest()).fold(value.abs(), f64::max);
    Answer { unit_of, value, bound: bound.max(value), certificate, rounding: ROUNDING * largest }
}

fn one_level(problem: &Problem, effort: Effort) -> Answer {
    if problem.capacity() == 2
        && let Some(exact) = pairs::solve(problem)
    {
        return answer(problem, exact.unit_of, exact.bound, exact.certificate);
    }
    if exhaustive::is_small(problem) {
        let unit_of = exhaustive::solve(problem);
        return answer(problem, unit_of, f64::NEG_INFINITY, Certificate::Exhaustive);
    }
    let unit_of = search::solve(problem, &contracted(problem), effort.swaps, effort.seed);
    let first = answer(problem, unit_of, f64::NEG_INFINITY, Certificate::Exhaustive);
    let bound = bound::of_one_level(problem, &first.unit_of, first.value, effort.seed);
    // What the bound's programme chose is a start that the search did not have.
    let start = completed(problem, &bound.chosen);
    let again = search::solve(problem, &[start, first.unit_of], effort.swaps / 4, effort.seed + 1);
    answer(problem, again, bound.value, bound.certificate)
}

/// A bound per level; the value of units in use goes with the smallest.
fn sum_of_levels(problem: &Problem, effort: Effort) -> (f64, Vec<Certificate>) {
    let places = problem.units() * problem.capacity();
    let mut total = 0.0;
    let mut certificates = Vec::new();
    for (index, level) in problem.levels().iter().enumerate() {
        let units = places / level.capacity;
        let awake =
            (0..=units).map(|units| if index == 0 { problem.awake_value(units) } else { 0.0 }).collect();
        let alone = Problem::new(problem.threads(), vec![level.clone()], units, awake)
            .expect("a level of a problem is a problem");
        let answer = one_level(&alone, Effort { swaps: effort.swaps / 4, ..effort });
        total += answer.bound;
        certificates.push(answer.certificate);
    }
    (total, certificates)
}

/// Threads joined by twos, the twos by twos and so on, each step exact given the one before; where units do not hold a power of
/// two, or places stay empty, there is none.
fn contracted(problem: &Problem) -> Vec<Vec<usize>> {
    let (threads, capacity) = (problem.threads(), problem.capacity());
    if !capacity.is_power_of_two() || threads != capacity * problem.units() {
        return Vec::new();
    }
    let pairs = &problem.levels()[0].pairs;
    let mut clusters: Vec<Vec<usize>> = (0..threads).map(|thread| vec![thread]).collect();
    while clusters[0].len() < capacity {
        let between = PairValues::from_fn(clusters.len(), |first, second| {
            let across =
                clusters[first].iter().flat_map(|one| clusters[second].iter().map(move |other| (one, other)));
            across.map(|(one, other)| pairs.of(*one, *other)).sum()
        });
        let level = vec![Level { capacity: 2, pairs: between }];
        let step = Problem::new(clusters.len(), level, clusters.len() / 2, Vec::new())
            .expect("clusters are threads");
        let Some(exact) = pairs::solve(&step) else { return Vec::new() };
        clusters = groups(&exact.unit_of, clusters.len() / 2)
            .into_iter()
            .map(|joined| joined.into_iter().flat_map(|cluster| clusters[cluster].clone()).collect())
            .collect();
    }
    vec![completed(problem, &clusters)]
}

/// The groups that do not overlap, the first first, each in a unit; all others where there is room.
fn completed(problem: &Problem, groups: &[Vec<usize>]) -> Vec<usize> {
    let mut unit_of = vec![usize::MAX; problem.threads()];
    let mut members = vec![0; problem.units()];
    let mut next = 0;
    for group in groups {
        if next < problem.units() && group.iter().all(|thread| unit_of[*thread] == usize::MAX) {
            for thread in group {
                unit_of[*thread] = next;
            }
            members[next] = group.len();
            next += 1;
        }
    }
    for unit in &mut unit_of {
        if *unit == usize::MAX {
            let room = members.iter().position(|count| *count < problem.capacity());
            *unit = room.expect("there are places for all threads");
            members[*unit] += 1;
        }
    }
    unit_of
}
