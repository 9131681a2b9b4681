//! What is to be maximised: values of pairs in units of nested levels.

/// More threads than this are not placed one by one.
const THREADS_MAX: usize = 1024;

/// A symmetric table over pairs of threads.
#[derive(Debug, Clone, PartialEq)]
pub struct PairValues {
    threads: usize,
    /// Row by row; the diagonal is 0.
    values: Vec<f64>,
}

impl PairValues {
    /// By a function of two threads, the smaller first.
    pub fn from_fn(threads: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let mut values = vec![0.0; threads * threads];
        for first in 0..threads {
            for second in first + 1..threads {
                let value = value(first, second);
                values[first * threads + second] = value;
                values[second * threads + first] = value;
            }
        }
        Self { threads, values }
    }

    /// How many threads it is about.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Of two threads in either order; 0 of a thread with itself.
    pub fn of(&self, first: usize, second: usize) -> f64 {
        self.values[first * self.threads + second]
    }

    /// Of a thread with each.
    pub fn row(&self, thread: usize) -> &[f64] {
        &self.values[thread * self.threads..(thread + 1) * self.threads]
    }

    /// The largest size of a value.
    pub(crate) fn largest(&self) -> f64 {
        self.values.iter().fold(0.0, |most, value| value.abs().max(most))
    }

    /// The sum over all pairs of a group.
    pub(crate) fn within(&self, group: &[usize]) -> f64 {
        let pairs = group
            .iter()
            .enumerate()
            .flat_map(|(at, first)| group[..at].iter().map(move |second| (first, second)));
        pairs.map(|(first, second)| self.of(*first, *second)).sum()
    }
}

/// Units of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// How many threads fit into a unit of it.
    pub capacity: usize,
    /// What a pair in one unit is worth.
    pub pairs: PairValues,
}

/// A placement to be found.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    threads: usize,
    levels: Vec<Level>,
    units: usize,
}

/// Why a problem cannot be posed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// No thread, or too many.
    #[error("{0} threads: give 1 to {THREADS_MAX}")]
    Threads(usize),
    /// Levels that do not nest.
    #[error(
        "level {level} holds {capacity}: give a multiple of the level below, and a whole number of units in it"
    )]
    Levels {
        /// Counted from 0, the smallest.
        level: usize,
        /// What it holds.
        capacity: usize,
    },
    /// Too few places.
    #[error("{threads} threads do not fit into {places} places: give more units")]
    TooFewPlaces {
        /// Threads.
        threads: usize,
        /// Places.
        places: usize,
    },
    /// A table of another size, or a value that is no number.
    #[error("{0}: give a finite value for each pair of threads")]
    Values(&'static str),
}

impl Problem {
    /// `levels` from the smallest units to the largest; `units` counts the smallest.
    pub fn new(threads: usize, levels: Vec<Level>, units: usize) -> Result<Self, ProblemError> {
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(ProblemError::Threads(threads));
        }
        let places = levels.first().and_then(|level| level.capacity.checked_mul(units)).unwrap_or(0);
        if threads > places || places > THREADS_MAX * THREADS_MAX {
            return Err(ProblemError::TooFewPlaces { threads, places });
        }
        let mut below = 1;
        for (index, level) in levels.iter().enumerate() {
            let capacity = level.capacity;
            if capacity == 0 || !capacity.is_multiple_of(below) || !places.is_multiple_of(capacity) {
                return Err(ProblemError::Levels { level: index, capacity });
            }
            if level.pairs.threads != threads || level.pairs.values.iter().any(|value| !value.is_finite()) {
                return Err(ProblemError::Values("pairs"));
            }
            below = capacity;
        }
        Ok(Self { threads, levels, units })
    }

    /// How many threads are placed.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// From the smallest units to the largest.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// How many of the smallest units there are.
    pub fn units(&self) -> usize {
        self.units
    }

    /// How many threads fit into a smallest unit.
    pub fn capacity(&self) -> usize {
        self.levels[0].capacity
    }

    /// How many units of a level there are.
    pub(crate) fn units_of(&self, level: &Level) -> usize {
        self.units * self.capacity() / level.capacity
    }

    /// The unit of a level that a smallest unit is in.
    pub(crate) fn at_level(&self, level: &Level, unit: usize) -> usize {
        unit * self.capacity() / level.capacity
    }

    /// The value of a placement: a smallest unit for each thread.
    ///
    /// None if it has another number of threads, a unit that does not exist, or a unit that is too full.
    pub fn value(&self, unit_of: &[usize]) -> Option<f64> {
        let mut members = vec![Vec::new(); self.units];
        for (thread, unit) in unit_of.iter().enumerate() {
            members.get_mut(*unit)?.push(thread);
        }
        if unit_of.len() != self.threads || members.iter().any(|group| group.len() > self.capacity()) {
            return None;
        }
        let of_level = |level: &Level| -> f64 {
            let together = level.capacity / self.capacity();
            members.chunks(together).map(|units| level.pairs.within(&units.concat())).sum()
        };
        Some(self.levels.iter().map(of_level).sum())
    }
}
