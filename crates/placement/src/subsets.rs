//! All groups of threads that fit into a unit, by what they are worth beyond the prices of their members.

use crate::problem::PairValues;

/// Sizes of groups that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) least: usize,
    pub(crate) most: usize,
}

/// A group and what it is worth beyond its members' prices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Excess {
    pub(crate) members: Vec<usize>,
    pub(crate) excess: f64,
}

/// How many groups there are, as far as that is not too many to count.
pub(crate) fn count(threads: usize, sizes: Sizes) -> f64 {
    let of_size = |size: usize| -> f64 {
        (0..size).map(|index| (threads - index.min(threads)) as f64 / (index + 1) as f64).product()
    };
    (sizes.least..=sizes.most.min(threads)).map(of_size).sum()
}

/// What groups are worth and what they pay.
///
/// A group that has two or three of a triple pays for it once. Charging each of its pairs with the triple's price counts it
/// once for two members and three times for three: twice the price is given back for a whole triple.
pub(crate) struct Charges<'a> {
    prices: &'a [f64],
    /// Values of pairs less the prices of triples.
    pub(crate) values: PairValues,
    /// For each pair, the third of each triple and twice its price.
    pub(crate) thirds: Vec<Vec<(usize, f64)>>,
}

impl<'a> Charges<'a> {
    pub(crate) fn new(pairs: &PairValues, prices: &'a [f64], triples: &[([usize; 3], f64)]) -> Self {
        let threads = pairs.threads();
        let mut charged = vec![0.0; threads * threads];
        let mut thirds = vec![Vec::new(); threads * threads];
        for (members, price) in triples {
            for third in 0..3 {
                let [one, other] = [members[(third + 1) % 3], members[(third + 2) % 3]];
                for pair in [one * threads + other, other * threads + one] {
                    charged[pair] += price;
                    thirds[pair].push((members[third], 2.0 * price));
                }
            }
        }
        let values =
            PairValues::from_fn(threads, |one, other| pairs.of(one, other) - charged[one * threads + other]);
        Self { prices, values, thirds }
    }

    /// Of pairs, less what they are charged for triples.
    pub(crate) fn values(&self) -> &PairValues {
        &self.values
    }

    /// The third of each triple of which two threads are members, and what is given back if it comes.
    pub(crate) fn given_back(&self, one: usize, other: usize) -> &[(usize, f64)] {
        &self.thirds[one * self.values.threads() + other]
    }

    /// For each pair of threads that are the first two of a group, and for each thread alone, the group with the largest excess
    /// among those above `floor`, and the largest excess of all.
    pub(crate) fn best(&self, sizes: Sizes, floor: f64) -> (Vec<Excess>, f64) {
        let threads = self.values.threads();
        let mut search = Search {
            charges: self,
            sizes,
            floor,
            found: Vec::new(),
            largest: f64::NEG_INFINITY,
            members: Vec::new(),
            gains: vec![vec![0.0; threads]; sizes.most + 1],
        };
        for first in 0..threads {
            let excess = -self.prices[first];
            search.push(first);
            if sizes.least <= 1 {
                search.offer_new(excess);
            }
            if sizes.most > 1 {
                for second in first + 1..threads {
                    let excess = excess + search.gains[1][second] - self.prices[second];
                    search.push(second);
                    let mut best = None;
                    search.extend(excess, &mut best);
                    search.found.extend(best);
                    search.members.pop();
                }
            }
            search.members.pop();
        }
        (search.found, search.largest)
    }
}

struct Search<'a> {
    charges: &'a Charges<'a>,
    sizes: Sizes,
    floor: f64,
    found: Vec<Excess>,
    largest: f64,
    members: Vec<usize>,
    /// By size of the group: what each thread would add to its value.
    gains: Vec<Vec<f64>>,
}

impl Search<'_> {
    fn push(&mut self, thread: usize) {
        let size = self.members.len();
        let threads = self.charges.values.threads();
        let (before, after) = self.gains.split_at_mut(size + 1);
        let row = self.charges.values.row(thread);
        for ((gain, before), value) in after[0].iter_mut().zip(&before[size]).zip(row) {
            *gain = before + value;
        }
        for member in &self.members {
            for (third, given_back) in &self.charges.thirds[member * threads + thread] {
                after[0][*third] += given_back;
            }
        }
        self.members.push(thread);
    }

    fn offer_new(&mut self, excess: f64) {
        let mut best = None;
        self.offer(excess, None, &mut best);
        self.found.extend(best);
    }

    fn offer(&mut self, excess: f64, last: Option<usize>, best: &mut Option<Excess>) {
        self.largest = self.largest.max(excess);
        if excess > best.as_ref().map_or(self.floor, |best| best.excess) {
            let members = self.members.iter().copied().chain(last).collect();
            *best = Some(Excess { members, excess });
        }
    }

    /// The group so far has an excess.
    fn extend(&mut self, excess: f64, best: &mut Option<Excess>) {
        let size = self.members.len();
        if size >= self.sizes.least {
            self.offer(excess, None, best);
        }
        if size >= self.sizes.most {
            return;
        }
        let next = self.members[size - 1] + 1;
        if size + 1 == self.sizes.most {
            // The innermost loop: where all the time goes.
            let (mut most, mut at) = (f64::NEG_INFINITY, next);
            let gains = self.gains[size][next..].iter().zip(&self.charges.prices[next..]);
            for (offset, (gain, price)) in gains.enumerate() {
                let added = gain - price;
                if added > most {
                    (most, at) = (added, next + offset);
                }
            }
            if most > f64::NEG_INFINITY {
                self.offer(excess + most, Some(at), best);
            }
            return;
        }
        for thread in next..self.charges.values.threads() {
            let excess = excess + self.gains[size][thread] - self.charges.prices[thread];
            self.push(thread);
            self.extend(excess, best);
            self.members.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_excess_is_that_of_the_best_group() {
        let pairs = PairValues::from_fn(7, |first, second| (first * 7 + second * 3) as f64 % 5.0);
        let prices: Vec<f64> = (0..7).map(|thread| f64::from(thread) * 0.3).collect();
        let triples = [([0, 1, 2], 0.7), ([1, 4, 6], 1.5), ([2, 3, 4], 0.2)];
        for (least, most) in [(3, 3), (1, 4), (2, 2), (5, 5)] {
            let sizes = Sizes { least, most };
            let (found, largest) = Charges::new(&pairs, &prices, &triples).best(sizes, f64::NEG_INFINITY);
            let excess = |set: u32| -> f64 {
                let members: Vec<usize> = (0..7).filter(|thread| set >> thread & 1 == 1).collect();
                let paid = |triple: &[usize; 3]| {
                    triple.iter().filter(|thread| members.contains(thread)).count() >= 2
                };
                let of_triples: f64 =
                    triples.iter().filter(|(triple, _)| paid(triple)).map(|(_, price)| price).sum();
                pairs.within(&members)
                    - members.iter().map(|thread| prices[*thread]).sum::<f64>()
                    - of_triples
            };
            let fits = |set: &u32| (least..=most).contains(&(set.count_ones() as usize));
            let true_largest = (1..128).filter(fits).map(excess).fold(f64::NEG_INFINITY, f64::max);
            assert!((largest - true_largest).abs() < 1e-12);
            assert!(found.iter().any(|one| (one.excess - largest).abs() < 1e-12));
            assert!((count(7, sizes) - (1..128).filter(fits).count() as f64).abs() < 1e-9);
        }
    }
}
