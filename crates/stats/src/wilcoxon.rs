//! Shift of paired differences: Hodges-Lehmann estimate with the interval of Wilcoxon's signed-rank test.
//!
//! Robust against outliers, no distribution assumed beyond symmetry, exact for up to 60 pairs. Interval and p are one
//! test: the interval at 1 - alpha excludes a shift exactly when the p of the differences from that shift is at most
//! alpha, for any number of pairs, ties and zeros included.

use crate::Interval;
use crate::student::normal_cdf;
use serde::{Deserialize, Serialize};

/// Fewer pairs than this have no 95 % interval: the smallest two-sided p of n pairs is 2^(1-n), 0.031 for 6.
pub const FEWEST_PAIRS: usize = 6;

/// Up to here the exact distribution is used; above, its normal approximation is as good.
const EXACT_UP_TO: usize = 60;

/// A shift with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shift {
    /// Median of all pairwise averages.
    pub value: f64,
    /// Interval at the level asked for; `None` if so few differences cannot reach it (fewer than 6 at 95 %).
    pub interval: Option<Interval>,
    /// Finite differences used.
    pub pairs: usize,
}

/// Distribution of the signed-rank sum where each sign is a fair random draw.
#[derive(Debug, Clone)]
enum SignedRankNull {
    /// The probability of at most each sum.
    Exact(Vec<f64>),
    /// Its normal approximation.
    Normal { mean: f64, deviation: f64 },
}

impl SignedRankNull {
    /// Of `count` differences.
    fn of(count: usize) -> Self {
        let n = count as f64;
        if count > EXACT_UP_TO {
            let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
            return Self::Normal { mean: n * (n + 1.0) / 4.0, deviation };
        }
        let mut below = 0.0;
        let cumulative = subset_sums(count).into_iter().map(|ways| {
            below += ways;
            below / n.exp2()
        });
        Self::Exact(cumulative.collect())
    }

    /// Two-sided p of the smaller of the sums of negative and of positive ranks. The normal approximation has a continuity
    /// correction of a half.
    fn two_sided_p(&self, smaller: usize) -> f64 {
        let tail = match self {
            Self::Exact(cumulative) => cumulative.get(smaller).copied().unwrap_or(1.0),
            Self::Normal { mean, deviation } => normal_cdf((smaller as f64 - mean + 0.5) / deviation),
        };
        (2.0 * tail).min(1.0)
    }
}

/// Rank, counted from 1, of the Walsh average that bounds the interval; `None` if `count` cannot reach the level.
///
/// It is the number of sums whose p is at most `alpha`, so that interval and p cannot disagree.
fn wilcoxon_rank(count: usize, alpha: f64) -> Option<usize> {
    let null = SignedRankNull::of(count);
    let (mut low, mut high) = (0, count * (count + 1) / 2);
    while low < high {
        let middle = low.midpoint(high);
        if null.two_sided_p(middle) <= alpha { low = middle + 1 } else { high = middle }
    }
    (low > 0).then_some(low)
}

/// In how many ways the ranks 1 to `count` add up to each sum: exact in f64 up to 2^53, relative error 1e-16 above.
fn subset_sums(count: usize) -> Vec<f64> {
    let largest = count * (count + 1) / 2;
    let mut ways = vec![0.0; largest + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        let reached = rank * (rank + 1) / 2;
        for sum in (rank..=reached).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

/// Hodges-Lehmann shift of the differences, with its interval at `level`; `None` without a finite difference.
///
/// Exact for any number of differences: their averages are counted, not held. Takes n log n.
pub fn hodges_lehmann(differences: &[f64], level: f64) -> Option<Shift> {
    let walsh = Walsh::of(differences)?;
    let pairs = walsh.values();
    let interval = wilcoxon_rank(pairs, 1.0 - level)
        .map(|rank| Interval { low: walsh.ranked(rank), high: walsh.ranked(walsh.averages() + 1 - rank) });
    Some(Shift { value: walsh.median(), interval, pairs })
}

/// Two-sided p of Wilcoxon's signed-rank test that the differences are symmetric about zero.
///
/// Exact for up to 60 differences; above, the normal approximation with a continuity correction of a half. A zero, and a
/// difference with a partner of the same size and the other sign, counts against the rejection on either side: that is
/// what the interval does, which then ends at zero. With ties this p is therefore larger than that of mid-ranks. 1 when
/// nothing is left.
pub fn signed_rank_p(differences: &[f64]) -> f64 {
    let ranked = SignedRanks::of(differences);
    SignedRankNull::of(ranked.count()).two_sided_p(ranked.smaller(|_| false))
}

/// The differences by size, of which the signed-rank sum is taken for any turn of their signs.
#[derive(Debug, Clone)]
pub(crate) struct SignedRanks {
    zeros: usize,
    /// All but the zeros, ascending by size.
    members: Vec<Member>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    size: f64,
    is_negative: bool,
    /// Where it stands among the differences.
    place: usize,
}

impl SignedRanks {
    /// Of the finite ones among `differences`.
    pub(crate) fn of(differences: &[f64]) -> Self {
        let finite = differences.iter().enumerate().filter(|(_, difference)| difference.is_finite());
        let member = |(place, x): (usize, &f64)| Member { size: x.abs(), is_negative: *x < 0.0, place };
        let mut members: Vec<Member> = finite.map(member).collect();
        members.sort_unstable_by(|a, b| a.size.total_cmp(&b.size));
        let zeros = members.partition_point(|member| member.size == 0.0);
        Self { zeros, members: members.split_off(zeros) }
    }

    /// Finite differences.
    pub(crate) fn count(&self) -> usize {
        self.zeros + self.members.len()
    }

    /// The smallest of these sums that raises no alarm at `alpha`.
    pub(crate) fn quiet_from(&self, alpha: f64) -> usize {
        wilcoxon_rank(self.count(), alpha).unwrap_or(0)
    }

    /// How many standard deviations a sum lies below what is expected.
    pub(crate) fn distance(&self, smaller: usize) -> f64 {
        let n = self.count() as f64;
        (n * (n + 1.0) / 4.0 - smaller as f64) / (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt()
    }

    /// The smaller of the numbers of Walsh averages not above and not below zero, where the differences at some places have
    /// their signs turned.
    ///
    /// Without ties and zeros these are the sums of negative and of positive ranks: a difference of rank r decides the
    /// sign of its averages with itself and the r - 1 smaller ones.
    pub(crate) fn smaller(&self, is_turned: impl Fn(usize) -> bool) -> usize {
        let among_zeros = self.zeros * (self.zeros + 1) / 2;
        let (mut not_above, mut not_below, mut start) = (among_zeros, among_zeros, self.zeros);
        for ties in self.members.chunk_by(|a, b| a.size.total_cmp(&b.size).is_eq()) {
            let is_negative = |member: &&Member| member.is_negative != is_turned(member.place);
            let negative = ties.iter().filter(is_negative).count();
            let positive = ties.len() - negative;
            let decided = |count: usize| count * start + count * (count + 1) / 2;
            not_above += decided(negative) + negative * positive;
            not_below += decided(positive) + negative * positive;
            start += ties.len();
        }
        not_above.min(not_below)
    }
}

// Order statistics of Walsh averages, the means of all pairs of values, without holding the n (n + 1) / 2 of them.
//
// For values in ascending order the averages form a matrix with ascending rows and columns, so that those up to a
// threshold are counted in one pass of two pointers (Johnson and Mizoguchi, SIAM J. Comput. 7, 1978; Monahan, ACM TOMS
// Algorithm 616, 1984). A threshold is then bisected over the representations of f64, of which there are 2^64: at most
// 64 passes, and the result is an average itself, not one near it.

/// All bits but the sign.
const MAGNITUDE: i64 = i64::MAX;

/// Finite values in ascending order, of which Walsh averages are taken.
#[derive(Debug, Clone)]
pub(crate) struct Walsh {
    ascending: Vec<f64>,
}

impl Walsh {
    /// Of the finite ones among `values`; `None` without any.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut ascending: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        ascending.sort_unstable_by(f64::total_cmp);
        (!ascending.is_empty()).then_some(Self { ascending })
    }

    pub(crate) fn values(&self) -> usize {
        self.ascending.len()
    }

    pub(crate) fn averages(&self) -> usize {
        self.values() * (self.values() + 1) / 2
    }

    /// How many averages are at most `threshold`.
    fn count_up_to(&self, threshold: f64) -> usize {
        let (mut count, mut end) = (0, self.values());
        for (index, low) in self.ascending.iter().enumerate() {
            // The larger the one, the smaller the other: the end only moves down.
            while end > index && f64::midpoint(*low, self.ascending[end - 1]) > threshold {
                end -= 1;
            }
            if end <= index {
                break;
            }
            count += end - index;
        }
        count
    }

    /// The average of `rank`, counted from 1.
    pub(crate) fn ranked(&self, rank: usize) -> f64 {
        assert!((1..=self.averages()).contains(&rank), "there are {} averages, not {rank}", self.averages());
        let (mut low, mut high) = (key(self.ascending[0]), key(self.ascending[self.values() - 1]));
        while low < high {
            // No overflow: the sum of two halves, rounded down.
            let middle = (low & high) + ((low ^ high) >> 1);
            if self.count_up_to(of_key(middle)) >= rank { high = middle } else { low = middle + 1 }
        }
        // Both zeros compare equal, so that the lower is found; it is shown without its sign.
        of_key(low) + 0.0
    }

    pub(crate) fn median(&self) -> f64 {
        let (lower, upper) = (self.averages().div_ceil(2), self.averages() / 2 + 1);
        let low = self.ranked(lower);
        if lower == upper { low } else { f64::midpoint(low, self.ranked(upper)) }
    }
}

/// An integer in the same order as the values: IEEE 754 magnitudes ascend with their bits, negative ones the other way.
fn key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if bits < 0 { bits ^ MAGNITUDE } else { bits }
}

/// The value of a key.
fn of_key(key: i64) -> f64 {
    f64::from_bits((if key < 0 { key ^ MAGNITUDE } else { key }).cast_unsigned())
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
        // y = [((i * 7919) % 101 + 1) * (1 if (i * 31) % 97 > 33 else -1) for i in range(80)], without ties:
        // scipy.stats.wilcoxon(y, method="asymptotic", correction=True).pvalue
        let sign = |i: u32| if (i * 31) % 97 > 33 { 1.0 } else { -1.0 };
        let many: Vec<f64> = (0..80).map(|i| sign(i) * f64::from((i * 7919) % 101 + 1)).collect();
        assert!((signed_rank_p(&many) - 0.055_350_238_845_523_19).abs() < 1e-9, "{}", signed_rank_p(&many));
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
    fn ties_and_zeros_count_against_a_rejection() {
        // One zero, 1 and 2 each against a tie: 12 averages are not above zero, which are ranks that add up to 12:
        // scipy.stats.wilcoxon([1, -2, 3, 4, 5, 6, 7, 8, 9, -10], method="exact").pvalue
        let tied = [1.0, 2.0, -1.0, 2.0, 3.0, 3.0, -2.0, 4.0, 0.0, 1.0];
        let ranked = SignedRanks::of(&tied);
        assert_eq!((ranked.smaller(|_| false), ranked.count()), (12, 10));
        let p = signed_rank_p(&tied);
        assert!((p - 0.130_859_375).abs() < 1e-12, "{p}");
        // Mid-ranks without zeros: scipy.stats.wilcoxon(x, method="asymptotic", correction=True, zero_method="wilcox")
        assert!(p > 0.073_254_099_777_138_2);
    }

    #[test]
    fn the_normal_rank_continues_the_exact_one() {
        let (exact, normal) = (wilcoxon_rank(60, 0.05), wilcoxon_rank(61, 0.05));
        let (exact, normal) = (exact.expect("reachable"), normal.expect("reachable"));
        assert!(exact < normal && normal - exact < 35, "{exact} {normal}");
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

    /// What holds for any number of differences, above and below the last exact one.
    fn interval_and_p_agree(values: &[f64], shift: f64) -> Result<(), TestCaseError> {
        let moved: Vec<f64> = values.iter().map(|x| x - shift).collect();
        for (level, alpha) in [(0.95, 0.05), (0.9, 0.1)] {
            let interval = hodges_lehmann(values, level).expect("finite").interval;
            let rejected = signed_rank_p(&moved) <= alpha;
            prop_assert_eq!(rejected, interval.is_some_and(|interval| !interval.contains(shift)));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn the_interval_is_the_test_turned_inside_out(
            values in proptest::collection::vec(-1e3..1e3_f64, 1..150), share in -0.4..0.4_f64,
        ) {
            interval_and_p_agree(&values, 1e3 * share)?;
        }

        #[test]
        fn so_it_is_with_ties_and_zeros(values in proptest::collection::vec(-4..=4_i32, 1..150), halves in -4..=4_i32) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            interval_and_p_agree(&values, f64::from(halves) / 2.0)?;
        }

        #[test]
        fn sums_are_counts_of_averages(values in proptest::collection::vec(-4..=4_i32, 1..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let averages = || {
                let pairs = values.iter().enumerate();
                pairs.flat_map(|(index, a)| values[index..].iter().map(move |b| a + b))
            };
            let (not_above, not_below) = (averages().filter(|x| *x <= 0.0), averages().filter(|x| *x >= 0.0));
            let (ranked, smaller) = (SignedRanks::of(&values), not_above.count().min(not_below.count()));
            prop_assert_eq!((ranked.smaller(|_| false), ranked.count()), (smaller, values.len()));
            let turned: Vec<f64> =
                values.iter().enumerate().map(|(place, x)| if place % 3 == 0 { -x } else { *x }).collect();
            let expected = SignedRanks::of(&turned).smaller(|_| false);
            prop_assert_eq!(ranked.smaller(|place| place % 3 == 0), expected);
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
    }
}

#[cfg(test)]
mod walsh_tests {
    use proptest::prelude::*;

    use super::*;

    /// All averages, made and sorted.
    fn all(values: &[f64]) -> Vec<f64> {
        let mut all: Vec<f64> = values
            .iter()
            .enumerate()
            .flat_map(|(index, a)| values[index..].iter().map(|b| f64::midpoint(*a, *b)))
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[test]
    fn keys_are_in_the_order_of_their_values_and_lead_back() {
        let values = [f64::MIN, -1.5, -f64::MIN_POSITIVE, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.5, f64::MAX];
        assert!(values.is_sorted_by_key(|value| key(*value)));
        assert!(values.iter().all(|value| of_key(key(*value)).to_bits() == value.to_bits()));
    }

    #[test]
    fn extremes_and_nothing_are_no_trouble() {
        assert!(Walsh::of(&[f64::NAN, f64::INFINITY]).is_none());
        let walsh = Walsh::of(&[f64::MAX, f64::MIN, f64::NAN, 0.0]).expect("three finite");
        assert_eq!((walsh.values(), walsh.averages()), (3, 6));
        assert_eq!((walsh.ranked(1), walsh.ranked(6)), (f64::MIN, f64::MAX));
        assert_eq!(Walsh::of(&[-0.0, -0.0]).expect("two").median().to_bits(), 0.0_f64.to_bits());
    }

    fn check(values: &[f64]) -> Result<(), TestCaseError> {
        let (walsh, naive) = (Walsh::of(values).expect("finite"), all(values));
        for (index, expected) in naive.iter().enumerate() {
            prop_assert_eq!(walsh.ranked(index + 1).to_bits(), expected.to_bits(), "rank {}", index + 1);
            prop_assert_eq!(walsh.count_up_to(*expected), naive.partition_point(|value| value <= expected));
        }
        let median = crate::quantile_of_sorted(&naive, 0.5).expect("finite");
        prop_assert_eq!(walsh.median().to_bits(), median.to_bits());
        Ok(())
    }

    proptest! {
        #[test]
        fn every_rank_is_that_of_the_sorted_averages(values in proptest::collection::vec(-1e3..1e3_f64, 1..30)) {
            check(&values)?;
        }

        #[test]
        fn ties_and_zeros_change_nothing(values in proptest::collection::vec(-3..=3_i32, 1..30)) {
            check(&values.into_iter().map(f64::from).collect::<Vec<f64>>())?;
        }
    }
}
