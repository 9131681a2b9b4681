//! How well values of pairs tell pairs of threads that are known beforehand: what a way to learn them is judged by.

use crate::problem::{Level, PairValues, Problem, ProblemError};
use crate::solve::{Effort, solve};

/// Threads that were paired on purpose, found again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// The chance that a pair outweighs two strangers (area under the curve of true over false positives); ties count by halves.
    pub area: f64,
    /// Pairs that the best placement on units of two puts together.
    pub pairs_found: usize,
}

/// Judges the values; `pair_of` has the number of each thread's pair.
///
/// # Errors
/// Values of another number of threads, or none.
pub fn recovery(pairs: &PairValues, pair_of: &[usize]) -> Result<Recovery, ProblemError> {
    Ok(Recovery { area: area(pairs, pair_of), pairs_found: pairs_found(pairs, pair_of)? })
}

fn area(pairs: &PairValues, pair_of: &[usize]) -> f64 {
    let all = (0..pair_of.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    let (true_pairs, strangers): (Vec<_>, Vec<_>) =
        all.partition(|(one, other)| pair_of[*one] == pair_of[*other]);
    let mut wins = 0.0;
    for (one, other) in &true_pairs {
        for (left, right) in &strangers {
            let (pair, stranger) = (pairs.of(*one, *other), pairs.of(*left, *right));
            wins += if pair > stranger { 1.0 } else { f64::from(u8::from(pair >= stranger)) / 2.0 };
        }
    }
    wins / (true_pairs.len() * strangers.len()) as f64
}

fn pairs_found(pairs: &PairValues, pair_of: &[usize]) -> Result<usize, ProblemError> {
    let threads = pair_of.len();
    let level = Level { capacity: 2, pairs: pairs.clone() };
    let problem = Problem::new(threads, vec![level], threads / 2, Vec::new())?;
    let unit_of = solve(&problem, Effort::default()).unit_of;
    let is_found =
        |one: usize| (0..one).any(|other| unit_of[one] == unit_of[other] && pair_of[one] == pair_of[other]);
    Ok((0..threads).filter(|thread| is_found(*thread)).count())
}
