//! Which threads belong together: the best placement of threads on units of CPUs, and a proof of how good it is.
//!
//! An [`Objective`] becomes a [`Problem`]: what each pair of threads is worth in one unit of each level, what it is worth to
//! leave units asleep. [`solve`] answers with a placement, its value, and a bound that no placement passes, with the
//! certificate by which anyone can check the bound: see [`Certificate`].
#![forbid(unsafe_code)]

mod bound;
mod branch;
mod certificate;
mod exhaustive;
mod heaviest;
mod matching;
mod objective;
mod pairs;
mod problem;
mod programme;
mod recovery;
mod search;
mod simplex;
mod solve;
mod subsets;
mod triangles;

pub use certificate::{Branch, Certificate, MatchingPrices, Price, Proof, Triangle};
pub use objective::{CLASSES, LevelTerms, Objective};
pub use problem::{Level, PairValues, Problem, ProblemError};
pub use recovery::{Recovery, recovery};
pub use solve::{Answer, Effort, solve};
