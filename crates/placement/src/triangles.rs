//! An upper bound for large units: the programme over pairs, in which two pairs of three threads bring the third.

use std::collections::HashSet;

use crate::certificate::Triangle;
use crate::problem::Level;

/// Of more threads not all triples are looked at: of so many there are 670,000.
const THREADS_MAX: usize = 160;
/// Multiplications: a tenth of a second.
const WORK_MAX: u64 = 150_000_000;
/// Multiplications of a step, roughly, for each pair and each triangle.
const STEP_WORK: [usize; 2] = [8, 12];
/// The same of a look, for each triple.
const LOOK_WORK: u64 = 12;
/// Steps between two looks at which triples are violated.
const STEPS: usize = 100;
/// Triples that are taken in at one look, per thread: the most violated first.
const NEWS_PER_THREAD: usize = 24;
/// A triple that is violated by less stays out.
const VIOLATION_MIN: f64 = 1e-3;

/// What the prices prove of the sum of pair values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proven {
    pub(crate) bound: f64,
    pub(crate) of_thread: Vec<f64>,
    pub(crate) triangles: Vec<Triangle>,
}

/// By the programme over pairs: each is together by a share from 0 to 1, each thread with `capacity - 1` others (or with at most as
/// many, unless all places are taken), and no triangle is violated.
///
/// Any prices prove a bound; they are improved until it is `good_enough` or the work is spent. None of more than 160 threads, and
/// where no pair is worth anything.
pub(crate) fn solve(level: &Level, is_full: bool, good_enough: f64) -> Option<Proven> {
    if level.pairs.threads() > THREADS_MAX || level.pairs.largest() <= 0.0 {
        return None;
    }
    let mut programme = Programme::new(level, is_full);
    let mut point = Point { shares: vec![0.0; programme.gains.len()], prices: vec![0.0; programme.threads] };
    let mut best: Option<Proven> = None;
    let mut work = 0;
    while work < WORK_MAX {
        let (last, mean) = programme.steps(&point);
        let rows = [programme.gains.len(), programme.triangles.len()];
        work += (STEPS * (STEP_WORK[0] * rows[0] + STEP_WORK[1] * rows[1])) as u64;
        let bounds = [&last, &mean].map(|point| programme.bound(&point.prices));
        let moved = if bounds[1] < bounds[0] { mean } else { last };
        let bound = bounds[0].min(bounds[1]);
        if best.as_ref().is_none_or(|best| bound < best.bound) {
            best = Some(programme.proven(&moved.prices, bound));
        }
        if bound <= good_enough {
            break;
        }
        programme.rebalance(&point, &moved);
        point = moved;
        programme.renew(&mut point);
        work += LOOK_WORK * (programme.threads as u64).pow(3) / 6;
    }
    best
}

/// Shares of pairs, and prices: of threads first, then of triangles.
#[derive(Clone)]
struct Point {
    shares: Vec<f64>,
    prices: Vec<f64>,
}

/// The programme with those triangles that were violated at some time.
struct Programme {
    threads: usize,
    is_full: bool,
    /// Others in the unit of a thread.
    others: f64,
    /// Values of pairs, over the largest one.
    gains: Vec<f64>,
    scale: f64,
    /// Threads of each pair, the smaller first.
    ends: Vec<[usize; 2]>,
    triangles: Vec<Row>,
    /// How far prices move for what shares move.
    weight: f64,
}

/// A triangle as a row: two pairs less the third are at most 1.
#[derive(Clone, Copy)]
struct Row {
    middle: usize,
    others: [usize; 2],
    plus: [usize; 2],
    minus: usize,
}

impl Programme {
    fn new(level: &Level, is_full: bool) -> Self {
        let (threads, scale) = (level.pairs.threads(), level.pairs.largest());
        let ends: Vec<[usize; 2]> =
            (0..threads).flat_map(|one| (one + 1..threads).map(move |other| [one, other])).collect();
        let gains = ends.iter().map(|[one, other]| level.pairs.of(*one, *other) / scale).collect();
        let others = level.capacity.min(threads) as f64 - 1.0;
        Self { threads, is_full, others, gains, scale, ends, triangles: Vec::new(), weight: 1.0 }
    }

    fn pair(&self, one: usize, other: usize) -> usize {
        let (one, other) = (one.min(other), one.max(other));
        one * (2 * self.threads - one - 1) / 2 + other - one - 1
    }

    /// What each pair is worth beyond what it pays.
    fn surplus(&self, prices: &[f64]) -> Vec<f64> {
        let (of_thread, of_triangle) = prices.split_at(self.threads);
        let paid = |[one, other]: &[usize; 2]| of_thread[*one] + of_thread[*other];
        let mut surplus: Vec<f64> =
            self.gains.iter().zip(&self.ends).map(|(gain, ends)| gain - paid(ends)).collect();
        for (row, price) in self.triangles.iter().zip(of_triangle) {
            surplus[row.plus[0]] -= price;
            surplus[row.plus[1]] -= price;
            surplus[row.minus] += price;
        }
        surplus
    }

    /// By how much shares pass what each row allows.
    fn excess(&self, shares: &[f64]) -> Vec<f64> {
        let mut excess = vec![-self.others; self.threads];
        for ([one, other], share) in self.ends.iter().zip(shares) {
            excess[*one] += share;
            excess[*other] += share;
        }
        let of_row = |row: &Row| shares[row.plus[0]] + shares[row.plus[1]] - shares[row.minus] - 1.0;
        excess.extend(self.triangles.iter().map(of_row));
        excess
    }

    /// The bound that any prices prove.
    fn bound(&self, prices: &[f64]) -> f64 {
        let (of_thread, of_triangle) = prices.split_at(self.threads);
        let of_pairs: f64 = self.surplus(prices).into_iter().map(|surplus| surplus.max(0.0)).sum();
        (self.others * of_thread.iter().sum::<f64>() + of_triangle.iter().sum::<f64>() + of_pairs)
            * self.scale
    }

    /// Primal-dual steps (Chambolle and Pock 2011) with steps by row and column (Pock and Chambolle 2011): where they end, and
    /// their mean.
    fn steps(&self, start: &Point) -> (Point, Point) {
        let mut columns = vec![2.0_f64; self.gains.len()];
        for row in &self.triangles {
            row.plus.iter().chain([&row.minus]).for_each(|pair| columns[*pair] += 1.0);
        }
        let of_thread = self.weight / (self.threads as f64 - 1.0);
        let of_triangle = self.weight / 3.0;
        let mut point = start.clone();
        let mut sum = Point { shares: vec![0.0; self.gains.len()], prices: vec![0.0; start.prices.len()] };
        for _ in 0..STEPS {
            let surplus = self.surplus(&point.prices);
            let mut ahead = Vec::with_capacity(surplus.len());
            for (pair, share) in point.shares.iter_mut().enumerate() {
                let next = (*share + surplus[pair] / (columns[pair] * self.weight)).clamp(0.0, 1.0);
                ahead.push(2.0 * next - *share);
                *share = next;
                sum.shares[pair] += next;
            }
            let excess = self.excess(&ahead);
            for (row, price) in point.prices.iter_mut().enumerate() {
                let is_thread = row < self.threads;
                *price += excess[row] * if is_thread { of_thread } else { of_triangle };
                if !(is_thread && self.is_full) {
                    *price = price.max(0.0);
                }
                sum.prices[row] += *price;
            }
        }
        let mean = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / STEPS as f64).collect();
        (point, Point { shares: mean(sum.shares), prices: mean(sum.prices) })
    }

    /// Moves the weight half way (of its logarithm) to what prices and shares moved by.
    fn rebalance(&mut self, before: &Point, after: &Point) {
        let away = |before: &[f64], after: &[f64]| -> f64 {
            before.iter().zip(after).map(|(before, after)| (after - before).powi(2)).sum::<f64>().sqrt()
        };
        let moved = [away(&before.shares, &after.shares), away(&before.prices, &after.prices)];
        if moved.iter().all(|moved| *moved > 1e-12) {
            self.weight = (self.weight * moved[1] / moved[0]).sqrt();
        }
    }

    /// Lets go of triangles without a price that hold, and takes in those that are violated most.
    fn renew(&mut self, point: &mut Point) {
        let excess = self.excess(&point.shares);
        let is_kept = |row: usize| point.prices[self.threads + row] > 0.0 || excess[self.threads + row] > 0.0;
        let kept: Vec<usize> = (0..self.triangles.len()).filter(|row| is_kept(*row)).collect();
        let mut prices = point.prices[..self.threads].to_vec();
        prices.extend(kept.iter().map(|row| point.prices[self.threads + row]));
        let mut triangles: Vec<Row> = kept.iter().map(|row| self.triangles[*row]).collect();
        let known: HashSet<[usize; 3]> =
            triangles.iter().map(|row| [row.plus[0], row.plus[1], row.minus]).collect();
        let mut news = self.violated(&point.shares);
        news.retain(|(_, row)| !known.contains(&[row.plus[0], row.plus[1], row.minus]));
        news.sort_by(|one, other| other.0.total_cmp(&one.0));
        news.truncate(NEWS_PER_THREAD * self.threads);
        triangles.extend(news.iter().map(|(_, row)| *row));
        prices.resize(self.threads + triangles.len(), 0.0);
        point.prices = prices;
        self.triangles = triangles;
    }

    /// Triangles with what they are violated by.
    fn violated(&self, shares: &[f64]) -> Vec<(f64, Row)> {
        let mut found = Vec::new();
        for one in 0..self.threads {
            for two in one + 1..self.threads {
                let pair = self.pair(one, two);
                for three in two + 1..self.threads {
                    let pairs = [pair, self.pair(one, three), self.pair(two, three)];
                    let sum: f64 = pairs.iter().map(|pair| shares[*pair]).sum();
                    for (middle, others, minus) in
                        [(one, [two, three], 2), (two, [one, three], 1), (three, [one, two], 0)]
                    {
                        let away = sum - 2.0 * shares[pairs[minus]] - 1.0;
                        if away > VIOLATION_MIN {
                            let plus = [pairs[(minus + 1) % 3], pairs[(minus + 2) % 3]];
                            found.push((away, Row { middle, others, plus, minus: pairs[minus] }));
                        }
                    }
                }
            }
        }
        found
    }

    fn proven(&self, prices: &[f64], bound: f64) -> Proven {
        let (of_thread, of_triangle) = prices.split_at(self.threads);
        let priced = self.triangles.iter().zip(of_triangle).filter(|(_, price)| **price > 0.0);
        Proven {
            bound,
            of_thread: of_thread.iter().map(|price| price * self.scale).collect(),
            triangles: priced
                .map(|(row, price)| Triangle {
                    middle: row.middle,
                    others: row.others,
                    price: price * self.scale,
                })
                .collect(),
        }
    }
}
