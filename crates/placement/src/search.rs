//! Many threads: iterated local search over swaps of two items, an empty place being an item like a thread.
//!
//! A swap's gain is had from sums of each item's values with each unit, which a swap changes for two units of a level only.

use stats::Random;

use crate::problem::Problem;
use crate::{Answer, Effort};

/// A gain below this share of the largest value is rounding.
const ROUNDING: f64 = 1e-12;
/// Fewest items that are shuffled to leave a local best.
const SHUFFLED_MIN: usize = 4;
/// Share of items that are shuffled at most.
const SHUFFLED_SHARE: usize = 4;
/// One start in so many is anew.
const ANEW_EVERY: usize = 8;

/// A placement with what its swaps would gain.
struct State<'a> {
    problem: &'a Problem,
    /// Smallest unit of each item; items beyond the threads are empty places.
    unit_of: Vec<usize>,
    /// By level: sum of the values of a thread with each unit, thread by thread.
    sums: Vec<Vec<f64>>,
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem, unit_of: Vec<usize>) -> Self {
        let sums = problem.levels().iter().map(|level| {
            let width = problem.units_of(level);
            let mut sums = vec![0.0; problem.threads() * width];
            for thread in 0..problem.threads() {
                for (other, value) in level.pairs.row(thread).iter().enumerate() {
                    sums[thread * width + problem.at_level(level, unit_of[other])] += value;
                }
            }
            sums
        });
        Self { sums: sums.collect(), problem, unit_of }
    }

    fn threads(&self) -> usize {
        self.problem.threads()
    }

    /// What it gains to swap two items of different smallest units.
    fn gain(&self, one: usize, other: usize) -> f64 {
        let (from, to) = (self.unit_of[one], self.unit_of[other]);
        let mut gain = 0.0;
        for (level, sums) in self.problem.levels().iter().zip(&self.sums) {
            let (near, far) = (self.problem.at_level(level, from), self.problem.at_level(level, to));
            if near == far {
                continue;
            }
            let width = self.problem.units_of(level);
            gain += sums[one * width + far] - sums[one * width + near];
            if other < self.threads() {
                gain +=
                    sums[other * width + near] - sums[other * width + far] - 2.0 * level.pairs.of(one, other);
            }
        }
        gain
    }

    fn swap(&mut self, one: usize, other: usize) {
        let (from, to) = (self.unit_of[one], self.unit_of[other]);
        for (level, sums) in self.problem.levels().iter().zip(&mut self.sums) {
            let (near, far) = (self.problem.at_level(level, from), self.problem.at_level(level, to));
            if near == far {
                continue;
            }
            let width = self.problem.units_of(level);
            for thread in 0..self.problem.threads() {
                let moved = level.pairs.of(thread, one)
                    - if other < self.problem.threads() { level.pairs.of(thread, other) } else { 0.0 };
                sums[thread * width + far] += moved;
                sums[thread * width + near] -= moved;
            }
        }
        self.unit_of.swap(one, other);
    }

    /// Makes the best swap until none gains; how many were tried.
    fn climb(&mut self, tolerance: f64) -> u64 {
        let mut tried = 1;
        loop {
            let mut best = (tolerance, 0, 0);
            for one in 0..self.threads() {
                // A swap of two threads is tried once.
                for other in one + 1..self.unit_of.len() {
                    if self.unit_of[one] != self.unit_of[other] {
                        tried += 1;
                        let gain = self.gain(one, other);
                        if gain > best.0 {
                            best = (gain, one, other);
                        }
                    }
                }
            }
            if best.0 <= tolerance {
                return tried;
            }
            self.swap(best.1, best.2);
        }
    }

    fn value(&self) -> f64 {
        self.problem.value(&self.unit_of[..self.threads()]).expect("swaps keep units as full as they were")
    }
}

/// The best placement that is found from the order of the threads, from neighbours of the best so far, and from random ones.
pub fn search(problem: &Problem, effort: Effort) -> Answer {
    let tolerance = ROUNDING
        * problem.levels().iter().map(|level| level.pairs.largest()).fold(f64::MIN_POSITIVE, f64::max);
    let mut random = Random::new(effort.seed);
    let in_order = (0..problem.units() * problem.capacity()).map(|item| item / problem.capacity()).collect();
    let mut state = State::new(problem, in_order);
    let mut tried = state.climb(tolerance);
    let mut best = (state.value(), state.unit_of);
    let items = best.1.len();
    let mut round = 0;
    while tried < effort.tried_max && problem.units() > 1 {
        let mut unit_of = best.1.clone();
        if round % ANEW_EVERY == ANEW_EVERY - 1 {
            random.shuffle(&mut unit_of);
        } else {
            let most = (items / SHUFFLED_SHARE).clamp(SHUFFLED_MIN.min(items), items);
            let count = SHUFFLED_MIN.min(items) + random.below(most - SHUFFLED_MIN.min(items) + 1);
            shuffle_some(&mut unit_of, count, &mut random);
        }
        round += 1;
        let mut state = State::new(problem, unit_of);
        tried += state.climb(tolerance);
        // Of equals the later, so that the search wanders over plateaus.
        let value = state.value();
        if value >= best.0 {
            best = (value, state.unit_of);
        }
    }
    let (value, mut unit_of) = best;
    unit_of.truncate(problem.threads());
    Answer { unit_of, value, tried, is_all: false }
}

/// Puts that many items into a random order among themselves.
fn shuffle_some(unit_of: &mut [usize], count: usize, random: &mut Random) {
    let mut chosen: Vec<usize> = (0..unit_of.len()).collect();
    random.shuffle(&mut chosen);
    chosen.truncate(count);
    let mut units: Vec<usize> = chosen.iter().map(|item| unit_of[*item]).collect();
    random.shuffle(&mut units);
    for (item, unit) in chosen.into_iter().zip(units) {
        unit_of[item] = unit;
    }
}
