//! Families of instances: how threads may share.

use placement::PairValues;
use stats::Random;

/// How values are spread over pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Every pair anything from 0 to 1.
    Uniform,
    /// One pair in seven, of very different strength.
    Sparse,
    /// Each thread with the next.
    Ring,
    /// Each thread with its neighbours on a square.
    Grid,
    /// Hidden groups of about five, in noise.
    Planted,
}

impl Family {
    pub(crate) const ALL: [Self; 5] = [Self::Uniform, Self::Sparse, Self::Ring, Self::Grid, Self::Planted];

    /// An instance whose threads are in random order.
    pub(crate) fn pairs(self, threads: usize, seed: u64) -> PairValues {
        let mut random = Random::new(seed);
        let mut draws: Vec<[f64; 2]> = Vec::new();
        draws.resize_with(threads * threads, || [random.unit(), random.unit()]);
        let side = (threads as f64).sqrt().floor() as usize;
        let hidden = (threads / 5).max(2);
        let group: Vec<usize> = (0..threads).map(|_| random.below(hidden)).collect();
        let mut order: Vec<usize> = (0..threads).collect();
        random.shuffle(&mut order);
        PairValues::from_fn(threads, |first, second| {
            let (one, other) = (order[first].min(order[second]), order[first].max(order[second]));
            let [value, chance] = draws[one * threads + other];
            let near = 1.0 + 0.2 * value;
            match self {
                Self::Uniform => value,
                // Pareto's law with exponent 1.5.
                Self::Sparse if chance < 0.15 => (1.0 - value).powf(-1.0 / 1.5) - 1.0,
                Self::Ring if other == one + 1 || (one == 0 && other == threads - 1) => near,
                Self::Grid if other == one + 1 && other % side != 0 => near,
                Self::Grid if other == one + side => near,
                Self::Planted => 0.15 * chance + if group[one] == group[other] { value } else { 0.0 },
                Self::Sparse | Self::Ring | Self::Grid => 0.0,
            }
        })
    }
}
