//! Why no placement is better: numbers that anyone can check without knowing how they were found.

/// Prices of threads for one number of units in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// How many of the smallest units are in use.
    pub units: usize,
    /// By thread.
    pub of_thread: Vec<f64>,
    /// By triple of threads; not negative.
    pub of_triple: Vec<([usize; 3], f64)>,
}

impl Price {
    pub(crate) fn sum(&self) -> f64 {
        paid(&self.of_thread, &self.of_triple)
    }
}

/// What all groups of a placement pay together at most.
pub(crate) fn paid(of_thread: &[f64], of_triple: &[([usize; 3], f64)]) -> f64 {
    of_thread.iter().sum::<f64>() + of_triple.iter().map(|(_, price)| price).sum::<f64>()
}

/// One case of several: some pairs are together, some apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// Pairs in one unit, the smaller thread first.
    pub together: Vec<[usize; 2]>,
    /// Pairs in different units.
    pub apart: Vec<[usize; 2]>,
    /// By so much the values of the former are raised and those of the latter lowered.
    pub force: f64,
    /// Prices against groups at the changed values. What they prove, less `force` for each pair that is together, is the
    /// bound for placements of this case.
    pub price: Price,
}

/// Of three threads: if the middle one is with both others, these two are together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Triangle {
    /// The one in the middle.
    pub middle: usize,
    /// The other two, the smaller first.
    pub others: [usize; 2],
    /// Not negative.
    pub price: f64,
}

/// How a bound can be checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Certificate {
    /// Every placement was tried: check by trying them.
    Exhaustive,
    /// For places in twos, with items 0 to 2 x units - 1, of which those beyond the threads are empty places: for any two items
    /// (two empty places apart, if `empty_together` is false) the value of the pair is at most the sum of their prices and of
    /// those sets that hold both. The bound is the sum of all prices, each set's times half of its size less one.
    ///
    /// One such proof for each number of units in use for which that number's bound is not implied by its neighbours: the best
    /// weight of a matching is concave in the number of its edges.
    Matching(Vec<MatchingPrices>),
    /// A group pays the prices of its members, and of each triple of which it has two or three: no two groups pay for the same,
    /// as they have no thread in common. Any group of at most a unit's capacity is worth at most r more than it pays.
    /// The bound is the sum of all prices, plus units in use times r, plus what that number of units is worth: the largest
    /// over all numbers that can be in use.
    Groups(Vec<Price>),
    /// Cases that cover all placements (each first decision splits them in two, and so on), where all places are taken. The
    /// bound is the largest of theirs.
    Branches(Vec<Branch>),
    /// `share[i][j] + share[j][i]` is the value of the pair. No thread has more in its unit than its best `capacity - 1`
    /// shares that are positive. The bound is their sum over threads, plus the best value of any number of units in use.
    Shares(Vec<Vec<f64>>),
    /// A pair pays the prices of its two threads and of each triangle in which it is the middle one with another, and is paid
    /// for each in which it is the others. The bound is what all pairs together are worth beyond what they pay, those that
    /// are worth less left out, plus `capacity - 1` times the prices of threads (not negative, unless all places are taken),
    /// plus those of triangles, plus the best value of any number of units in use.
    Triangles {
        /// By thread.
        of_thread: Vec<f64>,
        /// Those with a price.
        triangles: Vec<Triangle>,
    },
    /// One proof per level; bounds add up.
    Levels(Vec<Certificate>),
}

/// Duals of a matching.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchingPrices {
    /// How many units are in use; none if it does not matter.
    pub units: Option<usize>,
    /// By item.
    pub of_item: Vec<f64>,
    /// Sets of an odd number of items with their prices, which are not negative.
    pub of_set: Vec<(Vec<usize>, f64)>,
    /// The bound on the sum of pair values that they prove.
    pub bound: f64,
}

stats::named! {
    /// Which bound proved an answer, in a word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Proof {
        /// All placements were tried.
        Exhaustive = "exhaustive",
        /// Duals of a maximum-weight matching.
        Matching = "matching",
        /// Prices against all groups.
        Groups = "group prices",
        /// Prices against all groups, in several cases.
        Branches = "group prices by case",
        /// Best partners of each thread.
        Shares = "best partners",
        /// Prices of threads and triangles against pairs.
        Triangles = "triangle prices",
        /// A bound per level.
        Levels = "sum of levels",
    }
}

impl Certificate {
    /// Of cases; a single one needs no decisions.
    pub(crate) fn of(mut branches: Vec<Branch>) -> Self {
        if branches.len() == 1 {
            Self::Groups(branches.drain(..).map(|branch| branch.price).collect())
        } else {
            Self::Branches(branches)
        }
    }

    /// Its kind.
    pub fn proof(&self) -> Proof {
        match self {
            Self::Exhaustive => Proof::Exhaustive,
            Self::Matching(_) => Proof::Matching,
            Self::Groups(_) => Proof::Groups,
            Self::Branches(_) => Proof::Branches,
            Self::Shares(_) => Proof::Shares,
            Self::Triangles { .. } => Proof::Triangles,
            Self::Levels(_) => Proof::Levels,
        }
    }
}
