//! The linear programme over groups: each thread in one group, so many groups, the most value; solved for its prices.
//!
//! Columns are groups. Prices of a few are found by the simplex method; groups worth more than they pay at these prices are
//! added, until there are none. What is then left of a gap is due to groups in fractions, as three that have two threads each of
//! one triple and count a half each. At most one group can have two of a triple: such rows are added where they
//! are broken. Whatever the prices, they prove a bound: errors of rounding or an early end make it weaker, not wrong.
//!
//! Where there are too many groups to look at each, those worth more than they pay are searched for by swaps, and only when that
//! finds none a search by bounds is asked whether there are any.

use std::collections::BTreeMap;

use crate::bound::Prices;
use crate::certificate::paid;
use crate::heaviest::Market;
use crate::problem::PairValues;
use crate::simplex::{Column, Tableau};
use crate::subsets::{Charges, Excess, Sizes, count};

/// What is smaller than this share of the largest value is rounding.
const ROUNDING: f64 = 1e-9;
/// A triple must be broken by this much: shifts of the right-hand side reach to a hundredth of it.
const BROKEN_MIN: f64 = 1e-2;
/// Rows for triples that are added at a time.
const TRIPLES_ADDED: usize = 64;
/// A thread is in at most so many triples that are added at a time, as near ones cut off the same.
const TRIPLES_OF_A_THREAD: usize = 8;
/// Columns that are kept when rows are added.
const COLUMNS_KEPT: usize = 3000;
/// Looking at a group costs about as much as so many multiplications.
const WORK_OF_A_LOOK: f64 = 4.0;
/// More groups than this are not looked at one by one.
const GROUPS_MAX: f64 = 3e5;
/// A look of the search by swaps costs about as much as so many multiplications, one of the search by bounds as so many.
const WORK_OF_SWAPS: u64 = 2;
const WORK_OF_BOUNDS: u64 = 14;
/// Known groups from which swaps begin: those that come nearest to being worth what they pay.
const STARTS: usize = 100;
/// One search by swaps takes no more than one in so many parts of the work that is left.
const SWAPS_SHARE: u64 = 10;
/// A new bound must be better by this share, or it counts as no progress.
const PROGRESS: f64 = 1e-5;
/// Rounds of new rows without progress after which the search ends.
const PATIENCE: usize = 8;

/// What to solve.
pub(crate) struct Programme<'a> {
    pub(crate) pairs: &'a PairValues,
    pub(crate) sizes: Sizes,
    /// Number of groups, empty ones not counted.
    pub(crate) groups: usize,
    /// A placement to begin with; may be of another number of groups.
    pub(crate) start: Vec<Vec<usize>>,
    /// Ends when the bound is no higher.
    pub(crate) good_enough: f64,
    /// Ends after so many multiplications.
    pub(crate) work_max: u64,
}

/// What came of it.
pub(crate) struct Solved {
    /// Prices with the least bound.
    pub(crate) prices: Prices,
    /// Groups that the programme would choose, with how much of each, the most first.
    pub(crate) chosen: Vec<(f64, Vec<usize>)>,
    /// Multiplications.
    pub(crate) work: u64,
    /// The work ran out in the midst of a proof: the bound may be poor.
    pub(crate) is_cut_short: bool,
}

impl Programme<'_> {
    /// True if groups are looked at one by one.
    pub(crate) fn looks_at_all(&self) -> bool {
        looks_at_all(self.pairs.threads(), self.sizes)
    }

    fn look_at_all(&self, prices: &Prices, floor: f64) -> Look {
        let work = (WORK_OF_A_LOOK * count(self.pairs.threads(), self.sizes)) as u64;
        let charges = Charges::new(self.pairs, &prices.of_thread, &prices.of_triple);
        let (found, most) = charges.best(self.sizes, floor);
        Look { found, most, work, is_cut_short: false }
    }

    /// By swaps, from these groups among others; only if those find none, or if there is no work left and no bound yet, by bounds.
    fn search(
        &self,
        known: &[Column],
        prices: &Prices,
        [floor, tolerance]: [f64; 2],
        work_left: u64,
        needs_bound: bool,
    ) -> Look {
        let market = Market::new(self.pairs, self.sizes, &prices.of_thread, &prices.of_triple);
        let starts: Vec<Vec<usize>> = known.iter().map(|column| column.members.clone()).collect();
        let (found, looks) = market.by_swaps(&starts, floor, work_left / SWAPS_SHARE / WORK_OF_SWAPS);
        let work = WORK_OF_SWAPS * looks;
        let asks = if work >= work_left { needs_bound } else { found.is_empty() };
        if !asks {
            return Look { found, most: f64::INFINITY, work, is_cut_short: false };
        }
        // What is proven of one group counts once for each.
        let tight = floor - tolerance + tolerance / self.groups as f64;
        let most = found.iter().map(|group| group.excess).fold(tight, f64::max);
        let proof = market.by_bounds(most, work_left.saturating_sub(work) / WORK_OF_BOUNDS);
        let work = work + WORK_OF_BOUNDS * proof.looks;
        let found = proof.found.into_iter().filter(|group| group.excess > floor).collect();
        Look { found, most: proof.bound, work, is_cut_short: proof.is_cut_short }
    }
}

/// True if there are few enough groups of these sizes to look at one by one.
pub(crate) fn looks_at_all(threads: usize, sizes: Sizes) -> bool {
    count(threads, sizes) <= GROUPS_MAX
}

/// Prices with the least bound that the work allows.
pub(crate) fn solve(programme: &Programme<'_>, seed: u64) -> Solved {
    let tolerance = ROUNDING * programme.pairs.largest().max(f64::MIN_POSITIVE);
    let column = |group: &Vec<usize>| Column { members: group.clone(), worth: programme.pairs.within(group) };
    let mut columns: Vec<Column> = programme.start.iter().map(column).collect();
    let mut triples: Vec<[usize; 3]> = Vec::new();
    let mut best: Option<Prices> = None;
    let (mut work, mut without_progress, mut is_cut_short) = (0, 0, false);
    loop {
        let mut tableau =
            Tableau::new(programme.pairs, programme.sizes, programme.groups, &triples, columns, seed);
        let before = best.as_ref().map_or(f64::INFINITY, |best| best.bound);
        loop {
            work += tableau.improve(tolerance);
            let of_thread = tableau.prices_of_threads();
            let of_triple = tableau.prices_of_triples();
            let prices = Prices { of_thread, of_triple, bound: f64::INFINITY };
            let left = programme.work_max.saturating_sub(work);
            let floor = tableau.price_of_a_group() + tolerance;
            let look = if programme.looks_at_all() {
                programme.look_at_all(&prices, floor)
            } else {
                programme.search(
                    &tableau.best_columns(STARTS),
                    &prices,
                    [floor, tolerance],
                    left,
                    best.is_none(),
                )
            };
            work += look.work;
            is_cut_short |= look.is_cut_short;
            let paid = paid(&prices.of_thread, &prices.of_triple);
            let bound = paid + programme.groups as f64 * look.most;
            if bound < best.as_ref().map_or(f64::INFINITY, |best| best.bound) {
                best = Some(Prices { bound, ..prices });
            }
            let is_over = look.is_cut_short || work > programme.work_max && best.is_some();
            if look.found.is_empty() || bound <= programme.good_enough || is_over {
                break;
            }
            for group in look.found {
                tableau.add(column(&group.members));
            }
        }
        let found = best.clone().expect("there was a look");
        let is_progress = before - found.bound > PROGRESS * found.bound.abs();
        without_progress = if is_progress { 0 } else { without_progress + 1 };
        let chosen = tableau.chosen();
        let broken = broken_triples(programme.pairs.threads(), &chosen);
        let is_done = found.bound <= programme.good_enough || is_cut_short || work > programme.work_max;
        if is_done || broken.is_empty() || without_progress >= PATIENCE {
            return Solved { prices: found, chosen, work, is_cut_short };
        }
        columns = tableau.best_columns(COLUMNS_KEPT);
        // Rows that cost nothing now are left out; they come back if they are broken.
        let paid = tableau.prices_of_triples().into_iter().filter(|(_, price)| *price > tolerance);
        let mut kept: Vec<[usize; 3]> = paid.map(|(triple, _)| triple).collect();
        for triple in broken {
            if !kept.contains(&triple) {
                kept.push(triple);
            }
        }
        triples = kept;
    }
}

/// Groups that are worth more than they pay.
struct Look {
    found: Vec<Excess>,
    /// No group has a larger excess; infinite if that was not asked.
    most: f64,
    work: u64,
    is_cut_short: bool,
}

/// Triples of which more than one group has two threads, counting groups in fractions; the most broken first.
fn broken_triples(threads: usize, chosen: &[(f64, Vec<usize>)]) -> Vec<[usize; 3]> {
    let mut of_pair = vec![0.0; threads * threads];
    let mut of_triple: BTreeMap<[usize; 3], f64> = BTreeMap::new();
    for (amount, group) in chosen {
        for (at, one) in group.iter().enumerate() {
            for (after, other) in group.iter().enumerate().skip(at + 1) {
                of_pair[one * threads + other] += amount;
                of_pair[other * threads + one] += amount;
                for third in &group[after + 1..] {
                    *of_triple.entry([*one, *other, *third]).or_default() += amount;
                }
            }
        }
    }
    let mut broken = Vec::new();
    for one in 0..threads {
        for other in one + 1..threads {
            for third in other + 1..threads {
                let pairs = of_pair[one * threads + other]
                    + of_pair[one * threads + third]
                    + of_pair[other * threads + third];
                if pairs > 1.0 + BROKEN_MIN {
                    // A group with all three has three of its pairs.
                    let whole = of_triple.get(&[one, other, third]).copied().unwrap_or(0.0);
                    let excess = pairs - 2.0 * whole - 1.0;
                    if excess > BROKEN_MIN {
                        broken.push((excess, [one, other, third]));
                    }
                }
            }
        }
    }
    broken.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut uses = vec![0; threads];
    let mut taken = Vec::new();
    for (_, triple) in broken {
        if taken.len() < TRIPLES_ADDED && triple.iter().all(|thread| uses[*thread] < TRIPLES_OF_A_THREAD) {
            for thread in triple {
                uses[thread] += 1;
            }
            taken.push(triple);
        }
    }
    taken
}
