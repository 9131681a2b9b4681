//! Few threads: the best placement by dynamic programming over sets of threads.
//!
//! The best value of a set in u groups is that of a group with its lowest thread and of what remains in u - 1. All
//! sets that can remain are tried, so that there is nothing to prove beyond that.

use crate::problem::Problem;

/// Groups of any size: 3^12 steps for each number of units.
const THREADS_MAX: usize = 12;
/// All places taken: only whole groups, far fewer.
const THREADS_MAX_FULL: usize = 16;

/// True if all placements can be tried.
pub(crate) fn is_small(problem: &Problem) -> bool {
    let threads = problem.threads();
    let is_full = threads == problem.units() * problem.capacity();
    problem.levels().len() == 1 && threads <= if is_full { THREADS_MAX_FULL } else { THREADS_MAX }
}

/// The best placement of a problem that is small.
pub(crate) fn solve(problem: &Problem) -> Vec<usize> {
    let threads = problem.threads();
    let full = (1_usize << threads) - 1;
    let worth = worth(problem);
    let is_full = threads == problem.units() * problem.capacity();
    let fits = |group: usize| {
        let size = group.count_ones() as usize;
        if is_full { size == problem.capacity() } else { size <= problem.capacity() }
    };
    // By number of units: the best value of each set, and its group with the lowest thread.
    let mut best = vec![vec![(f64::NEG_INFINITY, 0_usize); full + 1]];
    best[0][0].0 = 0.0;
    for units in 1..=*problem.usable_units().end() {
        let mut row = vec![(f64::NEG_INFINITY, 0); full + 1];
        let before = &best[units - 1];
        for (set, best_of_set) in row.iter_mut().enumerate().skip(1) {
            if is_full && set.count_ones() as usize != units * problem.capacity() {
                continue;
            }
            let lowest = set & set.wrapping_neg();
            let others = set ^ lowest;
            let mut rest = others;
            loop {
                let group = set ^ rest;
                if fits(group) {
                    let value = before[rest].0 + worth[group];
                    if value > best_of_set.0 {
                        *best_of_set = (value, group);
                    }
                }
                if rest == 0 {
                    break;
                }
                rest = (rest - 1) & others;
            }
        }
        best.push(row);
    }
    let total = |units: &usize| best[*units][full].0 + problem.awake_value(*units);
    let used = problem.usable_units().max_by(|one, other| total(one).total_cmp(&total(other))).unwrap_or(1);
    let mut unit_of = vec![0; threads];
    let mut left = full;
    for units in (1..=used).rev() {
        let group = best[units][left].1;
        for (thread, unit) in unit_of.iter_mut().enumerate() {
            if group >> thread & 1 == 1 {
                *unit = used - units;
            }
        }
        left ^= group;
    }
    unit_of
}

/// The value of each set of threads in one unit.
fn worth(problem: &Problem) -> Vec<f64> {
    let pairs = &problem.levels()[0].pairs;
    let mut worth = vec![0.0; 1 << problem.threads()];
    for set in 1..worth.len() {
        let lowest = set.trailing_zeros() as usize;
        let rest = set & (set - 1);
        let with_lowest: f64 = (0..problem.threads())
            .filter(|other| rest >> other & 1 == 1)
            .map(|other| pairs.of(lowest, other))
            .sum();
        worth[set] = worth[rest] + with_lowest;
    }
    worth
}
