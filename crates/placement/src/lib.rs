//! Which threads belong together: the best placement of threads on units of CPUs that is found.
//!
//! An [`Objective`] becomes a [`Problem`]: what each pair of threads is worth in one unit of each level. [`solve`] tries all
//! placements where there are few enough, and else as many as its limit says; the answer says which of the two.
#![forbid(unsafe_code)]

mod enumeration;
mod objective;
mod problem;
mod search;

pub use enumeration::enumerate;
pub use objective::{CLASSES, LevelTerms, Objective};
pub use problem::{Level, PairValues, Problem, ProblemError};
pub use search::search;

/// What an answer may cost; equal efforts give equal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Placements that are tried at most, but for those that finish the last climb.
    pub tried_max: u64,
    /// Of all that is drawn.
    pub seed: u64,
}

impl Default for Effort {
    /// Some tenths of a second.
    fn default() -> Self {
        Self { tried_max: 5_000_000, seed: 1 }
    }
}

/// The best placement of those that were tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The smallest unit of each thread.
    pub unit_of: Vec<usize>,
    pub value: f64,
    /// Placements that were tried.
    pub tried: u64,
    /// True if there are no others, but for exchanges of units that are alike: nothing is better then.
    pub is_all: bool,
}

/// Placements up to so many are all tried: some hundredths of a second.
const ALL_MAX: u64 = 200_000;

/// The best of all placements, or of those that the effort allows.
pub fn solve(problem: &Problem, effort: Effort) -> Answer {
    enumerate(problem, ALL_MAX.min(effort.tried_max)).unwrap_or_else(|| search(problem, effort))
}
