//! Shift of paired differences: Hodges-Lehmann estimate with the interval of Wilcoxon's signed-rank test.
//!
//! Robust against outliers, no distribution assumed beyond symmetry, exact for up to 60 pairs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantile::{quantile_of_sorted, sorted};
use crate::student::{normal_cdf, normal_quantile};
use crate::{Interval, median};

/// Fewer pairs than this have no 95 % interval: the smallest two-sided p of n pairs is 2^(1-n), 0.031 for 6.
pub const FEWEST_PAIRS: usize = 6;

/// Up to here the exact distribution is used; above, its normal approximation is as good.
const EXACT_UP_TO: usize = 60;

/// Above this the number of Walsh averages (n^2 / 2) is not worth its time; pairs are then thinned evenly.
const MOST_PAIRS: usize = 1000;

/// A shift with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shift {
    /// Median of all pairwise averages.
    pub value: f64,
    /// Interval at the level asked for; `None` if so few differences cannot reach it (fewer than 6 at 95 %).
    pub interval: Option<Interval>,
    /// Finite differences used.
    pub pairs: usize,
}

/// Rank, counted from 1, of the Walsh average that bounds the interval; `None` if `count` cannot reach the level.
fn wilcoxon_rank(count: usize, alpha: f64) -> Option<usize> {
    let n = count as f64;
    if count > EXACT_UP_TO {
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let rank = n * (n + 1.0) / 4.0 + normal_quantile(alpha / 2.0) * deviation;
        return (rank >= 1.0).then_some(rank as usize);
    }
    let ways = subset_sums(count);
    let all = (count as f64).exp2();
    let mut below = 0.0;
    let mut rank = 0;
    while rank < ways.len() && (below + ways[rank]) / all <= alpha / 2.0 {
        below += ways[rank];
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

/// In how many ways the ranks 1 to `count` add up to each sum: exact in f64 up to 2^53, relative error 1e-16 above.
fn subset_sums(count: usize) -> Vec<f64> {
    let largest = count * (count + 1) / 2;
    let mut ways = vec![0.0; largest + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        for sum in (rank..=largest).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

/// Hodges-Lehmann shift of the differences, with its interval at `level`; `None` without a finite difference.
pub fn hodges_lehmann(differences: &[f64], level: f64) -> Option<Shift> {
    let mut used: Vec<f64> = differences.iter().copied().filter(|x| x.is_finite()).collect();
    if used.len() > MOST_PAIRS {
        let step = used.len().div_ceil(MOST_PAIRS);
        used = used.into_iter().step_by(step).collect();
    }
    let mut walsh = Vec::with_capacity(used.len() * (used.len() + 1) / 2);
    for (index, a) in used.iter().enumerate() {
        walsh.extend(used[index..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    walsh.sort_unstable_by(f64::total_cmp);
    let value = quantile_of_sorted(&walsh, 0.5)?;
    let interval = wilcoxon_rank(used.len(), 1.0 - level)
        .map(|rank| Interval { low: walsh[rank - 1], high: walsh[walsh.len() - rank] });
    Some(Shift { value, interval, pairs: used.len() })
}

/// Two-sided p of Wilcoxon's signed-rank test that the differences are symmetric about zero.
///
/// Zeros are left out. Exact without ties for up to 60 differences; else mid-ranks, the variance corrected for ties
/// and a continuity correction of a half. 1 when nothing is left.
pub fn signed_rank_p(differences: &[f64]) -> f64 {
    let mut used: Vec<f64> = differences.iter().copied().filter(|x| x.is_finite() && *x != 0.0).collect();
    used.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = used.len() as f64;
    if used.is_empty() {
        return 1.0;
    }
    let (mut positive, mut ties) = (0.0, 0.0);
    let mut start = 0;
    for group in used.chunk_by(|a, b| a.abs().total_cmp(&b.abs()).is_eq()) {
        let size = group.len() as f64;
        let rank = start as f64 + f64::midpoint(1.0, size);
        positive += rank * group.iter().filter(|x| **x > 0.0).count() as f64;
        ties += size * size * size - size;
        start += group.len();
    }
    let smaller = positive.min(n * (n + 1.0) / 2.0 - positive);
    if ties == 0.0 && used.len() <= EXACT_UP_TO {
        let below: f64 = subset_sums(used.len()).iter().take(smaller as usize + 1).sum();
        return (2.0 * below / n.exp2()).min(1.0);
    }
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let z = (smaller - n * (n + 1.0) / 4.0 + 0.5) / variance.sqrt();
    (2.0 * normal_cdf(z)).min(1.0)
}

/// The Walsh averages of one row, sorted once, to take the Hodges-Lehmann shift of many resamples of it.
#[derive(Debug, Clone)]
pub(crate) struct WalshAverages {
    /// The average of each pair of values, ascending, with the places of the two.
    ascending: Vec<(f64, usize, usize)>,
    /// Places of the finite values.
    places: Vec<usize>,
}

impl WalshAverages {
    /// Of all finite values; their places stay those of the slice.
    pub(crate) fn of(values: &[f64]) -> Self {
        let finite: Vec<(usize, f64)> =
            values.iter().copied().enumerate().filter(|(_, value)| value.is_finite()).collect();
        let mut ascending = Vec::with_capacity(finite.len() * (finite.len() + 1) / 2);
        for (index, (i, a)) in finite.iter().enumerate() {
            ascending.extend(finite[index..].iter().map(|(j, b)| (f64::midpoint(*a, *b), *i, *j)));
        }
        ascending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Self { ascending, places: finite.into_iter().map(|(place, _)| place).collect() }
    }

    /// True without a finite value.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The shift of the resample that holds the value at place i `times(i)` times; `None` if it holds none.
    pub(crate) fn shift(&self, times: impl Fn(usize) -> u64) -> Option<f64> {
        let weight = |i: usize, j: usize| {
            if i == j { times(i) * (times(i) + 1) / 2 } else { times(i) * times(j) }
        };
        let drawn: u64 = self.places.iter().map(|place| times(*place)).sum();
        let total = drawn * (drawn + 1) / 2;
        let last = total.checked_sub(1)?;
        let (lower, upper) = (last / 2, total / 2);
        let (mut below, mut low) = (0, None);
        for (value, i, j) in &self.ascending {
            below += weight(*i, *j);
            if low.is_none() && below > lower {
                low = Some(*value);
            }
            if below > upper {
                return low.map(|low| f64::midpoint(low, *value));
            }
        }
        None
    }
}

/// Order-statistic interval of the median of the differences: for running displays, no Walsh averages.
pub(crate) fn quick_median(differences: &[f64]) -> Option<(f64, Interval)> {
    let ascending = sorted(differences);
    Some((median(&ascending)?, crate::quantile::quantile_interval(&ascending, 0.5)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIFFERENCES: [f64; 12] = [0.3, -0.1, 0.8, 0.25, 1.7, -0.4, 0.6, 0.05, 0.9, -0.2, 0.45, 0.15];

    #[test]
    fn shift_interval_and_p_equal_scipy() {
        // scipy.stats.wilcoxon(x, method="exact").pvalue
        assert!((signed_rank_p(&DIFFERENCES) - 0.042_480_468_75).abs() < 1e-12);
        // scipy.stats.wilcoxon(y, method="asymptotic", correction=True, zero_method="wilcox").pvalue
        let tied = [1.0, 2.0, -1.0, 2.0, 3.0, 3.0, -2.0, 4.0, 0.0, 1.0];
        assert!((signed_rank_p(&tied) - 0.073_254_099_777_138_2).abs() < 1e-6);
        // numpy.median of the 78 Walsh averages; the tables give T = 13 for n = 12 at 5 %: 14th from either end.
        let shift = hodges_lehmann(&DIFFERENCES, 0.95).expect("twelve differences");
        let interval = shift.interval.expect("twelve are enough");
        assert!((shift.value - 0.3125).abs() < 1e-12);
        assert!((interval.low - 0.025).abs() < 1e-12 && (interval.high - 0.75).abs() < 1e-12, "{interval}");
    }

    #[test]
    fn five_differences_have_no_interval_at_95_percent_and_six_have() {
        assert_eq!(hodges_lehmann(&DIFFERENCES[..5], 0.95).expect("five").interval, None);
        assert!(hodges_lehmann(&DIFFERENCES[..6], 0.95).expect("six").interval.is_some());
        assert_eq!(hodges_lehmann(&[f64::NAN], 0.95), None);
        assert!((signed_rank_p(&[0.0, f64::NAN]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_normal_rank_continues_the_exact_one() {
        let (exact, normal) = (wilcoxon_rank(60, 0.05), wilcoxon_rank(61, 0.05));
        let (exact, normal) = (exact.expect("reachable"), normal.expect("reachable"));
        assert!(exact < normal && normal - exact < 35, "{exact} {normal}");
        assert!(hodges_lehmann(&vec![1.0; 3000], 0.95).expect("thinned").pairs <= MOST_PAIRS);
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // One more than the critical T of Wilcoxon's table at 5 % (all n) and 10 %.
        for (count, at_5, at_10) in [
            (4, None, None),
            (5, None, Some(1)),
            (6, Some(1), Some(3)),
            (10, Some(9), Some(11)),
            (15, Some(26), Some(31)),
            (20, Some(53), Some(61)),
            (30, Some(138), Some(152)),
            (50, Some(435), Some(467)),
            (60, Some(649), Some(691)),
        ] {
            assert_eq!((wilcoxon_rank(count, 0.05), wilcoxon_rank(count, 0.10)), (at_5, at_10), "{count}");
        }
    }

    fn differences() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(-1e3..1e3_f64, 1..40)
    }

    proptest! {
        #[test]
        fn the_interval_is_the_test_turned_inside_out(values in differences(), shift in -1e3..1e3_f64) {
            let interval = hodges_lehmann(&values, 0.95).expect("finite").interval;
            let moved: Vec<f64> = values.iter().map(|x| x - shift).collect();
            let rejected = signed_rank_p(&moved) <= 0.05;
            prop_assert_eq!(rejected, interval.is_some_and(|interval| !interval.contains(shift)));
        }

        #[test]
        fn the_shift_follows_its_data(values in differences(), by in -1e3..1e3_f64) {
            let there = hodges_lehmann(&values, 0.95).expect("finite");
            let moved: Vec<f64> = values.iter().map(|x| by - x).collect();
            let back = hodges_lehmann(&moved, 0.95).expect("finite");
            prop_assert!((by - there.value - back.value).abs() < 1e-9);
            if let (Some(there), Some(back)) = (there.interval, back.interval) {
                prop_assert!((by - there.low - back.high).abs() < 1e-9);
                prop_assert!((by - there.high - back.low).abs() < 1e-9);
            }
            prop_assert_eq!(there.interval.is_some(), values.len() >= FEWEST_PAIRS);
        }

        #[test]
        fn the_shift_of_a_resample_is_that_of_its_values(values in differences(), seed in 0..u64::MAX) {
            let mut random = crate::Random::new(seed);
            let drawn: Vec<usize> = (0..values.len()).map(|_| random.below(values.len())).collect();
            let resample: Vec<f64> = drawn.iter().map(|place| values[*place]).collect();
            let times = |place: usize| drawn.iter().filter(|drawn| **drawn == place).count() as u64;
            let found = WalshAverages::of(&values).shift(times).expect("values");
            let expected = hodges_lehmann(&resample, 0.95).expect("values").value;
            prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
        }
    }
}
