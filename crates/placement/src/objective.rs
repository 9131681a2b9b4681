//! From what was measured of threads and CPUs to values of pairs.
//!
//! value of a pair at a level = sharing x benefit of the level - contention there
//! contention = sum over classes a of the one and b of the other of share a x share b x (loss of a beside b + loss of b
//! beside a)
//!
//! Both are in speeds of one undisturbed thread. The sum is first order: losses of three threads add up.

use crate::problem::{Level, PairValues, Problem, ProblemError};

/// Classes of work: integer, floating point, front end, memory, as in `models::scheduling`.
pub const CLASSES: usize = 4;

/// What sharing a unit of a level does.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelTerms {
    /// How many threads a unit of it holds.
    pub capacity: usize,
    /// Speed that a pair gains per unit of sharing.
    pub benefit: f64,
    /// Speed that a thread of one class (row) loses beside one of another (column).
    pub losses: [[f64; CLASSES]; CLASSES],
}

/// All terms.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// How much two threads share, in units of the levels' benefit.
    pub sharing: PairValues,
    /// The share of each thread's time in each class.
    pub demand: Vec<[f64; CLASSES]>,
    /// From the smallest units to the largest.
    pub levels: Vec<LevelTerms>,
    /// How many of the smallest units there are.
    pub units: usize,
}

impl Objective {
    /// The problem to solve.
    pub fn problem(&self) -> Result<Problem, ProblemError> {
        let threads = self.sharing.threads();
        if self.demand.len() != threads {
            return Err(ProblemError::Values("demand"));
        }
        let level = |terms: &LevelTerms| {
            let contention = |first: usize, second: usize| -> f64 {
                let classes = (0..CLASSES).flat_map(|one| (0..CLASSES).map(move |other| (one, other)));
                let lost = classes.map(|(one, other)| {
                    let both = terms.losses[one][other] + terms.losses[other][one];
                    self.demand[first][one] * self.demand[second][other] * both
                });
                lost.sum()
            };
            let value =
                |first, second| self.sharing.of(first, second) * terms.benefit - contention(first, second);
            Level { capacity: terms.capacity, pairs: PairValues::from_fn(threads, value) }
        };
        Problem::new(threads, self.levels.iter().map(level).collect(), self.units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pairs on the modules of an FX-8150: what the simulator of schedulers says without turbo, to first order.
    #[test]
    fn pairs_are_packed_when_sharing_outweighs_contention() {
        let used = |gain: f64| {
            let objective = Objective {
                sharing: PairValues::from_fn(4, |first, second| f64::from(u8::from(first / 2 == second / 2))),
                demand: vec![[1.0, 0.0, 0.0, 0.0]; 4],
                // Each of two gains by sharing, and each loses a fifth.
                levels: vec![LevelTerms {
                    capacity: 2,
                    benefit: 2.0 * gain,
                    losses: [[0.2; CLASSES]; CLASSES],
                }],
                units: 4,
            };
            let problem = objective.problem().expect("it is one");
            let mut units = crate::solve(&problem, crate::Effort::default()).unit_of;
            units.sort_unstable();
            units.dedup();
            units.len()
        };
        assert_eq!((used(0.1), used(0.3)), (4, 2));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let objective = Objective {
            sharing: PairValues::from_fn(2, |_, _| f64::NAN),
            demand: vec![[0.0; CLASSES]; 2],
            levels: vec![LevelTerms { capacity: 2, benefit: 1.0, losses: [[0.0; CLASSES]; CLASSES] }],
            units: 1,
        };
        assert_eq!(objective.problem(), Err(ProblemError::Values("pairs")));
    }
}
