//! What the optimiser is held against: all placements one by one, units that are alike as often as there are.

use placement::Problem;

/// The best value over all placements.
pub(crate) fn best_value(problem: &Problem) -> f64 {
    place(problem, &mut vec![0; problem.threads()], 0)
}

fn place(problem: &Problem, unit_of: &mut Vec<usize>, thread: usize) -> f64 {
    if thread == problem.threads() {
        return problem.value(unit_of).unwrap_or(f64::NEG_INFINITY);
    }
    // With one level it is plain which units are alike; with more all are tried.
    let used = unit_of[..thread].iter().max().map_or(0, |unit| unit + 1);
    let last = if problem.levels().len() == 1 { (used + 1).min(problem.units()) } else { problem.units() };
    let mut best = f64::NEG_INFINITY;
    for unit in 0..last {
        if unit_of[..thread].iter().filter(|other| **other == unit).count() < problem.capacity() {
            unit_of[thread] = unit;
            best = best.max(place(problem, unit_of, thread + 1));
        }
    }
    best
}
