//! Who shares what: from what was learnt of threads to the weights of an [`Objective`](crate::Objective).

mod weights;

pub use weights::{SharingWeights, demand, weights};
