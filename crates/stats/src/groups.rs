//! Shift between two groups that were not taken in pairs: Hodges-Lehmann with the interval of the rank-sum test.
//!
//! For values that have no natural partner, such as boots or runs of two records. Drift between the groups is inside
//! the shift: only pairs and interleaving keep it out.

use crate::quantile::{quantile_of_sorted, sorted};
use crate::student::{normal_cdf, normal_quantile};
use crate::{Interval, Shift};

/// The most values of a group whose differences are worth their time; larger groups are thinned evenly.
const MOST_VALUES: usize = 700;

/// Counts are exact in f64 up to here, 2^53; beyond, the normal approximation is as good.
const EXACT_WAYS: f64 = 9_007_199_254_740_992.0;

/// Hodges-Lehmann shift from the first group to the second: the median of all differences, with its interval at
/// `level`; `None` if a group has no finite value.
///
/// The interval is `None` where so few values cannot reach the level: 95 % takes 4 and 4, or 3 and 5. `pairs` is the
/// size of the smaller group.
pub fn group_shift(first: &[f64], second: &[f64], level: f64) -> Option<Shift> {
    let (first, second) = (thinned(first), thinned(second));
    let mut differences: Vec<f64> =
        first.iter().flat_map(|a| second.iter().map(move |b| *b - *a)).filter(|x| x.is_finite()).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let value = quantile_of_sorted(&differences, 0.5)?;
    let interval = rank_sum_rank(first.len(), second.len(), 1.0 - level)
        .filter(|rank| 2 * rank <= differences.len())
        .map(|rank| Interval { low: differences[rank - 1], high: differences[differences.len() - rank] });
    Some(Shift { value, interval, pairs: first.len().min(second.len()) })
}

/// Two-sided p of the rank-sum test (Mann and Whitney 1947) that the groups have one distribution.
///
/// Exact without ties where the number of arrangements is; else the normal approximation, its variance corrected for
/// ties and with a continuity correction of a half. 1 if a group is empty.
pub fn rank_sum_p(first: &[f64], second: &[f64]) -> f64 {
    let (first, second) = (sorted(first), sorted(second));
    let (n, m) = (first.len() as f64, second.len() as f64);
    if first.is_empty() || second.is_empty() {
        return 1.0;
    }
    let mut all: Vec<(f64, bool)> =
        first.iter().map(|x| (*x, true)).chain(second.iter().map(|x| (*x, false))).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rank_sum, mut ties, mut start) = (0.0, 0.0, 0);
    for group in all.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let size = group.len() as f64;
        let of_first = group.iter().filter(|(_, is_first)| *is_first).count() as f64;
        rank_sum += of_first * (f64::from(start) + f64::midpoint(1.0, size));
        ties += size * size * size - size;
        start += group.len() as u32;
    }
    let u = rank_sum - n * (n + 1.0) / 2.0;
    let smaller = u.min(n * m - u);
    if ties == 0.0
        && let Some(ways) = arrangements(first.len(), second.len())
    {
        let below: f64 = ways.iter().take(smaller as usize + 1).sum();
        return (2.0 * below / ways.iter().sum::<f64>()).min(1.0);
    }
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)).max(1.0));
    if variance <= 0.0 {
        return 1.0;
    }
    (2.0 * normal_cdf((smaller - n * m / 2.0 + 0.5) / variance.sqrt())).min(1.0)
}

/// Rank, counted from 1, of the difference that bounds the interval; `None` if the groups cannot reach the level.
fn rank_sum_rank(first: usize, second: usize, alpha: f64) -> Option<usize> {
    let Some(ways) = arrangements(first, second) else {
        let (n, m) = (first as f64, second as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let rank = n * m / 2.0 + normal_quantile(alpha / 2.0) * deviation;
        return (rank >= 1.0).then_some(rank as usize);
    };
    let tail = alpha / 2.0 * ways.iter().sum::<f64>();
    let mut below = 0.0;
    let rank = ways.iter().take_while(|ways| {
        below += **ways;
        below <= tail
    });
    Some(rank.count()).filter(|rank| *rank > 0)
}

/// In how many orders of both groups each value of U occurs: the coefficients of the Gaussian binomial, the product of
/// (1 - x^(m + i)) / (1 - x^i); `None` where they are no longer exact.
fn arrangements(first: usize, second: usize) -> Option<Vec<f64>> {
    let (few, many) = (first.min(second), first.max(second));
    let all = (1..=few).fold(1.0, |all, i| all * (many + i) as f64 / i as f64);
    if few == 0 || all > EXACT_WAYS {
        return None;
    }
    let mut ways = vec![0.0; few * many + 1];
    ways[0] = 1.0;
    for i in 1..=few {
        for u in (many + i..ways.len()).rev() {
            ways[u] -= ways[u - many - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    Some(ways)
}

fn thinned(values: &[f64]) -> Vec<f64> {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let step = finite.len().div_ceil(MOST_VALUES).max(1);
    finite.into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Random;

    const FIRST: [f64; 7] = [10.1, 10.4, 9.8, 10.0, 10.2, 10.9, 9.9];
    const SECOND: [f64; 5] = [10.3, 11.3, 10.7, 10.5, 10.05];

    #[test]
    fn p_equals_scipy() {
        // scipy.stats.mannwhitneyu(a, b, method="exact").pvalue
        let apart = rank_sum_p(&[10.1, 10.4, 9.8, 10.0], &[10.9, 11.3, 10.7, 10.5]);
        assert!((apart - 0.028_571_428_571_428_57).abs() < 1e-12, "{apart}");
        let near = rank_sum_p(&FIRST, &SECOND);
        assert!((near - 0.148_989_898_989_899).abs() < 1e-12, "{near}");
        // scipy.stats.mannwhitneyu([1,2,2,3,4], [2,3,3,5,6,4], method="asymptotic").pvalue
        let tied = rank_sum_p(&[1.0, 2.0, 2.0, 3.0, 4.0], &[2.0, 3.0, 3.0, 5.0, 6.0, 4.0]);
        assert!((tied - 0.135_851_702_216_604).abs() < 1e-8, "{tied}");
        assert!((rank_sum_p(&[], &SECOND) - 1.0).abs() < 1e-12);
        assert!((rank_sum_p(&[2.0; 9], &[2.0; 9]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_shift_is_the_median_of_all_differences_with_the_ranks_of_the_tables() {
        // numpy.median(numpy.subtract.outer(second, first)) = 0.4; Mann and Whitney's table gives U = 5 for 5 and 7
        // at 5 %, so the sixth difference from either end: -0.15 and 0.9.
        let shift = group_shift(&FIRST, &SECOND, 0.95).expect("values");
        let interval = shift.interval.expect("enough values");
        assert!((shift.value - 0.4).abs() < 1e-9, "{}", shift.value);
        assert!((interval.low + 0.15).abs() < 1e-9 && (interval.high - 0.9).abs() < 1e-9, "{interval}");
        assert_eq!(shift.pairs, 5);
    }

    #[test]
    fn four_against_four_have_an_interval_and_three_against_four_have_none() {
        let has = |n: usize, m: usize| {
            group_shift(&FIRST[..n], &SECOND[..m], 0.95).expect("values").interval.is_some()
        };
        assert!(has(4, 4) && has(3, 5));
        assert!(!has(3, 4) && !has(1, 1));
        assert_eq!(group_shift(&[], &SECOND, 0.95), None);
        assert_eq!(group_shift(&[f64::NAN], &SECOND, 0.95), None);
    }

    #[test]
    fn the_interval_covers_the_true_shift_as_often_as_it_says() {
        let mut random = Random::new(23);
        for (n, m) in [(4, 4), (6, 9), (12, 12), (40, 40)] {
            let covered = (0..400)
                .filter(|_| {
                    let mut draw = |count: usize, centre: f64| -> Vec<f64> {
                        (0..count).map(|_| centre + random.normal()).collect()
                    };
                    let (first, second) = (draw(n, 0.0), draw(m, 3.0));
                    group_shift(&first, &second, 0.95)
                        .and_then(|shift| shift.interval)
                        .is_some_and(|interval| interval.contains(3.0))
                })
                .count();
            assert!((366..=399).contains(&covered), "{n} and {m}: {covered} of 400");
        }
    }

    fn group() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(-1e3..1e3_f64, 1..14)
    }

    proptest! {
        #[test]
        fn swapping_the_groups_turns_the_sign(first in group(), second in group()) {
            let there = group_shift(&first, &second, 0.95).expect("values");
            let back = group_shift(&second, &first, 0.95).expect("values");
            prop_assert!((there.value + back.value).abs() < 1e-9);
            prop_assert_eq!(there.interval.is_some(), back.interval.is_some());
            prop_assert!((rank_sum_p(&first, &second) - rank_sum_p(&second, &first)).abs() < 1e-12);
        }

        #[test]
        fn the_interval_is_the_test_turned_inside_out(first in group(), second in group(), shift in -1e3..1e3_f64) {
            let interval = group_shift(&first, &second, 0.95).expect("values").interval;
            let moved: Vec<f64> = second.iter().map(|x| x - shift).collect();
            let rejected = rank_sum_p(&first, &moved) <= 0.05;
            prop_assert_eq!(rejected, interval.is_some_and(|interval| !interval.contains(shift)));
        }

        #[test]
        fn all_arrangements_are_counted_once(first in 1..12_usize, second in 1..12_usize) {
            let ways = arrangements(first, second).expect("few");
            let all = (1..=first).fold(1.0, |all, i| all * (second + i) as f64 / i as f64);
            prop_assert!((ways.iter().sum::<f64>() - all).abs() < 1e-6 * all);
            prop_assert!(ways.iter().zip(ways.iter().rev()).all(|(a, b)| (a - b).abs() < 1e-9 && *a > 0.0));
        }
    }
}
