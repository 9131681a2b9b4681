//! Many threads: iterated local search over swaps of two items, an empty place being an item like a thread.
//!
//! A swap's gain is had from sums of each item's values with each unit, which a swap changes for two units of a level only.

use stats::Random;

use crate::problem::{Level, Problem};

/// A gain below this share of the largest value is rounding.
const ROUNDING: f64 = 1e-12;
/// Fewest items that are shuffled to leave a local best.
const SHUFFLED_MIN: usize = 4;
/// Share of items that are shuffled at most.
const SHUFFLED_SHARE: usize = 4;
/// One start in so many is anew.
const ANEW_EVERY: usize = 8;

/// A placement with what its swaps would gain.
#[derive(Clone)]
struct State<'a> {
    problem: &'a Problem,
    /// Smallest unit of each item; items beyond the threads are empty places.
    unit_of: Vec<usize>,
    /// By level: sum of the values of a thread with each unit, thread by thread.
    sums: Vec<Vec<f64>>,
    /// Threads in each smallest unit.
    members: Vec<usize>,
    used: usize,
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem, unit_of: Vec<usize>) -> Self {
        let mut members = vec![0; problem.units()];
        for unit in &unit_of[..problem.threads()] {
            members[*unit] += 1;
        }
        let used = members.iter().filter(|count| **count > 0).count();
        let sums = problem.levels().iter().map(|level| {
            let width = units_of(problem, level);
            let mut sums = vec![0.0; problem.threads() * width];
            for thread in 0..problem.threads() {
                for (other, value) in level.pairs.row(thread).iter().enumerate() {
                    sums[thread * width + at_level(problem, level, unit_of[other])] += value;
                }
            }
            sums
        });
        Self { sums: sums.collect(), problem, unit_of, members, used }
    }

    fn threads(&self) -> usize {
        self.problem.threads()
    }

    /// What it gains to swap two items of different smallest units.
    fn gain(&self, one: usize, other: usize) -> f64 {
        let (from, to) = (self.unit_of[one], self.unit_of[other]);
        let mut gain = 0.0;
        for (level, sums) in self.problem.levels().iter().zip(&self.sums) {
            let (near, far) = (at_level(self.problem, level, from), at_level(self.problem, level, to));
            if near == far {
                continue;
            }
            let width = units_of(self.problem, level);
            gain += sums[one * width + far] - sums[one * width + near];
            if other < self.threads() {
                gain +=
                    sums[other * width + near] - sums[other * width + far] - 2.0 * level.pairs.of(one, other);
            }
        }
        if other >= self.threads() {
            gain += self.problem.awake_value(self.used_after_move(from, to))
                - self.problem.awake_value(self.used);
        }
        gain
    }

    fn used_after_move(&self, from: usize, to: usize) -> usize {
        self.used + usize::from(self.members[to] == 0) - usize::from(self.members[from] == 1)
    }

    fn swap(&mut self, one: usize, other: usize) {
        let (from, to) = (self.unit_of[one], self.unit_of[other]);
        if other >= self.threads() {
            self.used = self.used_after_move(from, to);
            self.members[from] -= 1;
            self.members[to] += 1;
        }
        for (level, sums) in self.problem.levels().iter().zip(&mut self.sums) {
            let (near, far) = (at_level(self.problem, level, from), at_level(self.problem, level, to));
            if near == far {
                continue;
            }
            let width = units_of(self.problem, level);
            for thread in 0..self.problem.threads() {
                let moved = level.pairs.of(thread, one)
                    - if other < self.problem.threads() { level.pairs.of(thread, other) } else { 0.0 };
                sums[thread * width + far] += moved;
                sums[thread * width + near] -= moved;
            }
        }
        self.unit_of.swap(one, other);
    }

    /// Makes the best swap until none gains; says how many swaps were looked at.
    fn climb(&mut self, tolerance: f64) -> u64 {
        let mut looked_at = 0;
        loop {
            let mut best = (tolerance, 0, 0);
            for one in 0..self.threads() {
                // A swap of two threads is looked at once.
                for other in one + 1..self.unit_of.len() {
                    if self.unit_of[one] != self.unit_of[other] {
                        let gain = self.gain(one, other);
                        if gain > best.0 {
                            best = (gain, one, other);
                        }
                    }
                }
            }
            looked_at += (self.threads() * self.unit_of.len()) as u64;
            if best.0 <= tolerance {
                return looked_at;
            }
            self.swap(best.1, best.2);
        }
    }

    fn value(&self) -> f64 {
        self.problem.value(&self.unit_of[..self.threads()]).expect("swaps keep units as full as they were")
    }
}

fn units_of(problem: &Problem, level: &Level) -> usize {
    problem.units() * problem.capacity() / level.capacity
}

fn at_level(problem: &Problem, level: &Level, unit: usize) -> usize {
    unit * problem.capacity() / level.capacity
}

/// The best placement that was found from these starts and from random ones, looking at so many swaps.
pub(crate) fn solve(problem: &Problem, starts: &[Vec<usize>], swaps_max: u64, seed: u64) -> Vec<usize> {
    let tolerance = ROUNDING
        * problem.levels().iter().map(|level| level.pairs.largest()).fold(f64::MIN_POSITIVE, f64::max);
    let mut random = Random::new(seed);
    let in_order: Vec<usize> = (0..problem.threads()).map(|thread| thread / problem.capacity()).collect();
    let mut looked_at = 0;
    let mut best: Option<(f64, Vec<usize>)> = None;
    for start in starts.iter().chain(std::iter::once(&in_order)) {
        let mut state = State::new(problem, with_empty_places(problem, start));
        looked_at += state.climb(tolerance);
        keep(&mut best, state);
    }
    let items = problem.units() * problem.capacity();
    let mut round = 0;
    while looked_at < swaps_max && items > 1 {
        let mut unit_of = best.as_ref().map_or_else(Vec::new, |(_, unit_of)| unit_of.clone());
        if round % ANEW_EVERY == ANEW_EVERY - 1 {
            random.shuffle(&mut unit_of);
        } else {
            let most = (items / SHUFFLED_SHARE).clamp(SHUFFLED_MIN.min(items), items);
            let count = SHUFFLED_MIN.min(items) + random.below(most - SHUFFLED_MIN.min(items) + 1);
            shuffle_some(&mut unit_of, count, &mut random);
        }
        round += 1;
        let mut state = State::new(problem, unit_of);
        // Building the sums costs about as much as looking at that many swaps.
        looked_at += state.climb(tolerance) + (items * items) as u64;
        keep(&mut best, state);
    }
    let mut unit_of = best.map_or(in_order, |(_, unit_of)| unit_of);
    unit_of.truncate(problem.threads());
    unit_of
}

/// Keeps the better; of equals the later, so that the search wanders over plateaus.
fn keep(best: &mut Option<(f64, Vec<usize>)>, state: State<'_>) {
    let value = state.value();
    if best.as_ref().is_none_or(|(have, _)| value >= *have) {
        *best = Some((value, state.unit_of));
    }
}

/// Units of all items: empty places go where there is room.
fn with_empty_places(problem: &Problem, unit_of: &[usize]) -> Vec<usize> {
    let mut room = vec![problem.capacity(); problem.units()];
    for unit in unit_of {
        room[*unit] -= 1;
    }
    let empty = room.iter().enumerate().flat_map(|(unit, places)| std::iter::repeat_n(unit, *places));
    unit_of.iter().copied().chain(empty).collect()
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
