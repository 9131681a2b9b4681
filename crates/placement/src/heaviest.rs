//! The group that is worth most beyond what it pays, where groups are too many to look at one by one: swaps find good ones,
//! branch and bound proves that there is no better one.

use crate::problem::PairValues;
use crate::subsets::{Charges, Excess, Sizes};

/// A swap must gain more than this, or rounding could make it go on for ever.
const GAIN_MIN: f64 = 1e-12;

/// Groups with prices of threads and of triples.
pub(crate) struct Market<'a> {
    pairs: &'a PairValues,
    sizes: Sizes,
    prices: &'a [f64],
    triples: &'a [([usize; 3], f64)],
    exact: Charges<'a>,
}

/// What a proof came to.
pub(crate) struct Proof {
    /// Groups above the known excess, each better than the one before.
    pub(crate) found: Vec<Excess>,
    /// No group has a larger excess.
    pub(crate) bound: f64,
    /// Groups and candidates that were looked at.
    pub(crate) looks: u64,
    /// The looks ran out: the bound is that of what was left.
    pub(crate) is_cut_short: bool,
}

impl<'a> Market<'a> {
    pub(crate) fn new(
        pairs: &'a PairValues,
        sizes: Sizes,
        prices: &'a [f64],
        triples: &'a [([usize; 3], f64)],
    ) -> Self {
        Self { pairs, sizes, prices, triples, exact: Charges::new(pairs, prices, triples) }
    }

    /// Begins with each thread and with each of these groups, and exchanges one member while that gains (takes one in or lets one
    /// go, where sizes are free): what ends above the floor, none twice. And how many members and threads were looked at; after so
    /// many no more beginnings are taken.
    pub(crate) fn by_swaps(&self, starts: &[Vec<usize>], floor: f64, looks_max: u64) -> (Vec<Excess>, u64) {
        let mut found: Vec<Excess> = Vec::new();
        let mut looks = 0;
        let looks_of_a_group = (self.sizes.most * self.prices.len()) as u64;
        let alone = (0..self.prices.len()).map(|thread| vec![thread]);
        for start in alone.chain(starts.iter().cloned()) {
            if looks > looks_max {
                break;
            }
            let (mut gains, mut excess) = self.completed(&start);
            looks += looks_of_a_group;
            while let Some((better, gain)) = self.swapped(&gains) {
                looks += looks_of_a_group;
                gains = better;
                excess += gain;
            }
            let mut members = gains.members;
            members.sort_unstable();
            if excess > floor && found.iter().all(|known| known.members != members) {
                found.push(Excess { members, excess });
            }
        }
        (found, looks)
    }

    /// These and, one after the other, the thread that adds most; with the excess.
    fn completed(&self, start: &[usize]) -> (Gains<'_>, f64) {
        let mut gains = Gains::new(&self.exact, self.prices);
        let mut excess = 0.0;
        for member in start {
            excess += gains.of[*member];
            gains.add(*member);
        }
        while let Some((next, gain)) = gains.best_other() {
            let size = gains.members.len();
            if size >= self.sizes.most || size >= self.sizes.least && gain <= 0.0 {
                break;
            }
            excess += gain;
            gains.add(next);
        }
        (gains, excess)
    }

    /// The neighbour that gains most, and what it gains, if any does.
    fn swapped<'b>(&self, gains: &Gains<'b>) -> Option<(Gains<'b>, f64)> {
        let size = gains.members.len();
        let mut best: Option<(Gains<'b>, Option<usize>)> = None;
        let mut most = GAIN_MIN;
        for (place, member) in gains.members.iter().enumerate() {
            let without = gains.without(place);
            let lost = without.of[*member];
            let mut next = None;
            for (thread, gain) in without.of.iter().enumerate() {
                if gain - lost > most && !gains.members.contains(&thread) {
                    (most, next) = (gain - lost, Some(Some(thread)));
                }
            }
            if size > self.sizes.least && -lost > most {
                (most, next) = (-lost, Some(None));
            }
            best = next.map(|thread| (without, thread)).or(best);
        }
        if let Some((thread, gain)) =
            gains.best_other().filter(|(_, gain)| size < self.sizes.most && *gain > most)
        {
            return Some((gains.with(thread), gain));
        }
        let (mut better, thread) = best?;
        if let Some(thread) = thread {
            better.add(thread);
        }
        Some((better, most))
    }

    /// Searches all groups but those that cannot have more than what is `known`, size by size; after so many looks those that are
    /// left count with their bound.
    pub(crate) fn by_bounds(&self, known: f64, looks_max: u64) -> Proof {
        let threads = self.prices.len();
        let thirds: Vec<([usize; 3], f64)> =
            self.triples.iter().map(|(triple, price)| (*triple, price / 3.0)).collect();
        let loose = Charges::new(self.pairs, self.prices, &thirds);
        let partners_of = |thread: usize| {
            let row = loose.values().row(thread);
            let mut others: Vec<usize> = (0..threads).filter(|other| *other != thread).collect();
            others.sort_by(|one, other| row[*other].total_cmp(&row[*one]));
            others
        };
        let mut search = Search {
            loose: &loose,
            partners: (0..threads).map(partners_of).collect(),
            size: 0,
            best: known,
            left: f64::NEG_INFINITY,
            found: Vec::new(),
            looks: 0,
            looks_max,
        };
        let node = Node {
            excess: 0.0,
            exact: Gains::new(&self.exact, self.prices),
            loose: Gains::new(&loose, self.prices),
        };
        for size in (self.sizes.least..=self.sizes.most.min(threads)).rev() {
            search.size = size;
            search.extend(&node, (0..threads).collect());
        }
        Proof {
            found: search.found,
            bound: search.best.max(search.left),
            looks: search.looks,
            is_cut_short: search.left > f64::NEG_INFINITY,
        }
    }
}

/// What each thread would add to a group.
#[derive(Clone)]
struct Gains<'a> {
    charges: &'a Charges<'a>,
    members: Vec<usize>,
    of: Vec<f64>,
}

impl<'a> Gains<'a> {
    fn new(charges: &'a Charges<'a>, prices: &[f64]) -> Self {
        Self { charges, members: Vec::new(), of: prices.iter().map(|price| -price).collect() }
    }

    /// The thread that would add most.
    fn best_other(&self) -> Option<(usize, f64)> {
        let others = self.of.iter().copied().enumerate().filter(|(thread, _)| !self.members.contains(thread));
        others.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn with(&self, thread: usize) -> Self {
        let mut more = self.clone();
        more.add(thread);
        more
    }

    fn add(&mut self, thread: usize) {
        self.shift(thread, 1.0);
        self.members.push(thread);
    }

    fn without(&self, place: usize) -> Self {
        let mut fewer = self.clone();
        let thread = fewer.members.swap_remove(place);
        fewer.shift(thread, -1.0);
        fewer
    }

    /// So many times what a thread changes that comes to the members.
    fn shift(&mut self, thread: usize, times: f64) {
        for (gain, value) in self.of.iter_mut().zip(self.charges.values().row(thread)) {
            *gain += times * value;
        }
        for member in &self.members {
            for (third, given_back) in self.charges.given_back(*member, thread) {
                self.of[*third] += times * given_back;
            }
        }
    }
}

/// A group that is not whole.
struct Node<'a> {
    excess: f64,
    exact: Gains<'a>,
    loose: Gains<'a>,
}

struct Search<'a> {
    /// Each pair of a triple charged with a third of its price: groups with all three pay what they should, those with two less.
    loose: &'a Charges<'a>,
    /// By thread the others, those first with which it is worth most when charged so.
    partners: Vec<Vec<usize>>,
    /// Of the groups that are searched now.
    size: usize,
    best: f64,
    /// The largest bound of what was not searched.
    left: f64,
    found: Vec<Excess>,
    looks: u64,
    looks_max: u64,
}

impl Search<'_> {
    /// All groups of that size of the node's members and some of the candidates.
    fn extend(&mut self, node: &Node<'_>, candidates: Vec<usize>) {
        let missing = self.size - node.exact.members.len();
        if missing == 1 {
            self.complete(node, &candidates);
            return;
        }
        let scores = self.worth_a_look(node, candidates, missing);
        for (at, (score, thread)) in scores.iter().enumerate() {
            let Some(others) = most_of(&scores[at + 1..], missing - 1) else { return };
            let bound = node.excess + score + others;
            if bound <= self.best + GAIN_MIN {
                return;
            }
            if self.looks > self.looks_max {
                self.left = self.left.max(bound);
                return;
            }
            let next = Node {
                excess: node.excess + node.exact.of[*thread],
                exact: node.exact.with(*thread),
                loose: node.loose.with(*thread),
            };
            self.extend(&next, scores[at + 1..].iter().map(|(_, thread)| *thread).collect());
        }
    }

    /// The best last member.
    fn complete(&mut self, node: &Node<'_>, candidates: &[usize]) {
        self.looks += candidates.len() as u64;
        let gain = |thread: &usize| node.exact.of[*thread];
        let last = candidates.iter().copied().max_by(|one, other| gain(one).total_cmp(&gain(other)));
        if let Some(last) = last.filter(|last| node.excess + gain(last) > self.best) {
            self.best = node.excess + gain(&last);
            let mut members = node.exact.members.clone();
            members.push(last);
            members.sort_unstable();
            self.found.push(Excess { members, excess: self.best });
        }
    }

    /// Candidates that could be in a group better than the best so far, with what they can bring, the most first.
    fn worth_a_look(
        &mut self,
        node: &Node<'_>,
        mut candidates: Vec<usize>,
        missing: usize,
    ) -> Vec<(f64, usize)> {
        loop {
            let scores = self.scores(node, &candidates, missing - 1);
            let Some(others) = most_of(&scores, missing - 1) else { return Vec::new() };
            let is_worth = |score: f64| node.excess + others + score > self.best + GAIN_MIN;
            let kept = scores.iter().take_while(|(score, _)| is_worth(*score)).count();
            if kept == scores.len() {
                return scores;
            }
            candidates = scores[..kept].iter().map(|(_, thread)| *thread).collect();
        }
    }

    /// What each candidate can bring at most, the most first: what it adds, and half of its pairs with its `others` best partners
    /// among them.
    fn scores(&mut self, node: &Node<'_>, candidates: &[usize], others: usize) -> Vec<(f64, usize)> {
        self.looks += (candidates.len() * (others + 1)) as u64;
        let mut is_candidate = vec![false; self.partners.len()];
        for thread in candidates {
            is_candidate[*thread] = true;
        }
        let score = |thread: &usize| {
            let row = self.loose.values().row(*thread);
            let partners = self.partners[*thread].iter().filter(|other| is_candidate[**other]);
            let best: f64 = partners.take(others).map(|other| row[*other]).sum();
            (node.loose.of[*thread] + best / 2.0, *thread)
        };
        let mut scores: Vec<(f64, usize)> = candidates.iter().map(score).collect();
        scores.sort_by(|one, other| other.0.total_cmp(&one.0));
        scores
    }
}

/// The most that so many of these, the most first, can add up to; none if there are not so many.
fn most_of(scores: &[(f64, usize)], count: usize) -> Option<f64> {
    Some(scores.get(..count)?.iter().map(|(score, _)| score).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Random;

    const THREADS: usize = 13;
    const ROUNDING: f64 = 1e-9;

    type Triples = Vec<([usize; 3], f64)>;

    /// Values of both signs, prices, and triples with a price.
    fn random_market(random: &mut Random) -> (PairValues, Vec<f64>, Triples) {
        let mut draws: Vec<f64> = Vec::new();
        draws.resize_with(THREADS * THREADS, || random.unit() - 0.2);
        let pairs =
            PairValues::from_fn(THREADS, |one, other| draws[one.min(other) * THREADS + one.max(other)]);
        let prices = (0..THREADS).map(|_| random.unit() * 1.5).collect();
        let triple = |random: &mut Random| {
            let mut all: Vec<usize> = (0..THREADS).collect();
            random.shuffle(&mut all);
            let mut triple = [all[0], all[1], all[2]];
            triple.sort_unstable();
            (triple, random.unit())
        };
        (pairs, prices, (0..10).map(|_| triple(random)).collect())
    }

    fn sizes() -> [Sizes; 4] {
        [(4, 4), (1, 4), (6, 6), (1, 7)].map(|(least, most)| Sizes { least, most })
    }

    /// A hundred markets, and the largest excess in each by looking at all groups.
    fn for_each_market(seed: u64, mut check: impl FnMut(&Market<'_>, f64)) {
        let mut random = Random::new(seed);
        for _ in 0..25 {
            let (pairs, prices, triples) = random_market(&mut random);
            for sizes in sizes() {
                let (_, most) = Charges::new(&pairs, &prices, &triples).best(sizes, f64::INFINITY);
                check(&Market::new(&pairs, sizes, &prices, &triples), most);
            }
        }
    }

    #[test]
    fn bounds_find_what_looking_at_all_groups_finds() {
        for_each_market(11, |market, most| {
            let proof = market.by_bounds(f64::NEG_INFINITY, u64::MAX);
            assert!((proof.bound - most).abs() < ROUNDING, "{} {most}", proof.bound);
            assert!(!proof.is_cut_short);
            assert!(proof.found.last().is_some_and(|last| (last.excess - most).abs() < ROUNDING));
            assert!(market.by_bounds(most + ROUNDING, u64::MAX).found.is_empty(), "nothing is better");
        });
    }

    #[test]
    fn a_search_that_is_cut_short_leaves_a_bound_that_holds() {
        let mut cut = 0;
        for_each_market(12, |market, most| {
            let proof = market.by_bounds(f64::NEG_INFINITY, 100);
            assert!(proof.bound >= most - ROUNDING, "{} {most}", proof.bound);
            cut += usize::from(proof.is_cut_short);
        });
        assert!(cut > 50, "{cut} of 100 were cut short");
    }

    #[test]
    fn swaps_end_at_groups_that_are_worth_what_they_say() {
        for_each_market(13, |market, _| {
            let Market { pairs, sizes, prices, triples, .. } = market;
            let (found, _) = market.by_swaps(&[vec![1, 5, 7]], f64::NEG_INFINITY, u64::MAX);
            assert!(!found.is_empty());
            for Excess { members, excess } in found {
                assert!((sizes.least..=sizes.most).contains(&members.len()), "{members:?}");
                assert!(members.is_sorted_by(|one, other| one < other), "{members:?}");
                let pays = |triple: &[usize; 3]| {
                    triple.iter().filter(|thread| members.contains(thread)).count() >= 2
                };
                let of_triples: f64 =
                    triples.iter().filter(|(triple, _)| pays(triple)).map(|(_, price)| price).sum();
                let of_threads: f64 = members.iter().map(|thread| prices[*thread]).sum();
                let true_excess = pairs.within(&members) - of_threads - of_triples;
                assert!((excess - true_excess).abs() < ROUNDING, "{excess} {true_excess}");
            }
        });
    }
}
