//! What a difference amounts to: faster, slower, equivalent within a margin stated before, or not known.

use serde::{Deserialize, Serialize};

use crate::{
    FEWEST_PAIRS, Interval, Shift, group_shift, hodges_lehmann, normal_cdf, normal_quantile, rank_sum_p,
    signed_rank_p, student_quantile,
};

/// Share of false alarms that a row, or a family of rows after correction, may raise.
pub const LEVEL_OF_ALARMS: f64 = 0.05;

/// Equivalence is two one-sided tests at 5 % each, so this interval has to lie inside the margin.
const EQUIVALENCE_CONFIDENCE: f64 = 1.0 - 2.0 * LEVEL_OF_ALARMS;

/// A forecast beyond this is none: the difference lies on the margin, and no number of pairs would tell.
const FORECAST_MAX: f64 = 1.0e6;

/// The outcome of a comparison; `inconclusive` is one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Takes less time, beyond the margin.
    Faster,
    /// Takes more time, beyond the margin.
    Slower,
    /// The difference, if any, lies inside the margin.
    Equivalent,
    /// The data cannot tell.
    Inconclusive,
}

impl Verdict {
    /// The bare word, as it stands in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Inconclusive => "undetermined",
            other => other.name(),
        }
    }
}

/// A comparison of durations, on the log of their ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Ratio of the second to the first: above 1 the second takes longer.
    pub ratio: f64,
    /// 95 % interval of the ratio; `None` for fewer than 6 pairs, or groups smaller than 4 and 4 or 3 and 5: then no
    /// such interval exists, and none may be shown.
    pub interval: Option<Interval>,
    /// 90 % interval, for equivalence by two one-sided tests at 5 %; `None` for fewer than 5 pairs.
    pub equivalence_interval: Option<Interval>,
    /// Two-sided p of the signed-rank test, or of the rank-sum test for groups.
    pub p: f64,
    /// Pairs used, or quads where those were compared; for groups the size of the smaller one.
    pub pairs: usize,
}

impl Comparison {
    /// Compares durations taken in adjacent pairs `(first, second)`; `None` without a pair of positive finite durations.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        let logs: Vec<f64> = pairs
            .iter()
            .filter(|(first, second)| *first > 0.0 && *second > 0.0)
            .map(|(first, second)| second.ln() - first.ln())
            .collect();
        Self::of_log_ratios(&logs)
    }

    /// The same from the logarithms of second over first, one per pair or, in an experiment made of quads, one per quad
    /// (see [`quad_means`](crate::quad_means)); `None` without a finite one.
    pub fn of_log_ratios(logs: &[f64]) -> Option<Self> {
        Self::one_of_several(logs, 1)
    }

    /// The same for one of several that are looked at together, of which the best is picked: the interval holds for all of them at once
    /// (Bonferroni), and so for the one that is picked because it looks best. `p` is its own.
    pub fn one_of_several(logs: &[f64], several: usize) -> Option<Self> {
        let level = LEVEL_OF_ALARMS / several.max(1) as f64;
        let (wide, narrow) =
            (hodges_lehmann(logs, 1.0 - level)?, hodges_lehmann(logs, EQUIVALENCE_CONFIDENCE)?);
        Some(Self::of_shifts(wide, narrow, signed_rank_p(logs)))
    }

    /// Compares two groups of durations without partners; `None` if one has no positive finite duration.
    ///
    /// What drifted between the groups is inside the ratio: see [`group_shift`].
    pub fn of_groups(first: &[f64], second: &[f64]) -> Option<Self> {
        let logs = |durations: &[f64]| -> Vec<f64> {
            durations.iter().filter(|x| **x > 0.0).map(|x| x.ln()).filter(|x| x.is_finite()).collect()
        };
        let (first, second) = (logs(first), logs(second));
        let wide = group_shift(&first, &second, 1.0 - LEVEL_OF_ALARMS)?;
        let narrow = group_shift(&first, &second, EQUIVALENCE_CONFIDENCE)?;
        Some(Self::of_shifts(wide, narrow, rank_sum_p(&first, &second)))
    }

    fn of_shifts(wide: Shift, narrow: Shift, p: f64) -> Self {
        Self {
            ratio: wide.value.exp(),
            interval: wide.interval.map(|interval| interval.map(f64::exp)),
            equivalence_interval: narrow.interval.map(|interval| interval.map(f64::exp)),
            p,
            pairs: wide.pairs,
        }
    }

    /// The verdict for a margin such as 0.01 (1 %): differences inside it are of no practical matter.
    ///
    /// `Equivalent` if the 90 % interval lies inside the margin; `Slower` or `Faster` if the 95 % interval excludes no
    /// change and the ratio lies beyond the margin; else `Inconclusive`, even where [`Self::direction`] is known.
    pub fn verdict(&self, margin: f64) -> Verdict {
        let (Some(wide), Some(narrow)) = (self.interval, self.equivalence_interval) else {
            return Verdict::Inconclusive;
        };
        let limit = margin.abs().ln_1p().exp();
        if narrow.low >= 1.0 / limit && narrow.high <= limit {
            Verdict::Equivalent
        } else if wide.low > 1.0 && self.ratio > limit {
            Verdict::Slower
        } else if wide.high < 1.0 && self.ratio < 1.0 / limit {
            Verdict::Faster
        } else {
            Verdict::Inconclusive
        }
    }

    /// The verdict of one row of many: a difference counts only if its `q`, the row's p as
    /// [`benjamini_hochberg`](crate::benjamini_hochberg) corrects it over all rows of the experiment, is at most 5 %.
    pub fn verdict_in_family(&self, margin: f64, q: f64) -> Verdict {
        match self.verdict(margin) {
            Verdict::Faster | Verdict::Slower if q.is_nan() || q > LEVEL_OF_ALARMS => Verdict::Inconclusive,
            verdict => verdict,
        }
    }

    /// About how many pairs (or quads, where those were compared) more would bring a verdict if the ratio stayed what it is, as widths shrink with the root of
    /// their number. 0 where there is a verdict. Without an interval, what is missing to six pairs: no more is known yet.
    /// `None` if the ratio lies so close to the margin that no number would do.
    pub fn further_pairs(&self, margin: f64) -> Option<usize> {
        let (Some(wide), Some(narrow)) = (self.interval, self.equivalence_interval) else {
            return Some(FEWEST_PAIRS.saturating_sub(self.pairs).max(1));
        };
        if self.verdict(margin) != Verdict::Inconclusive {
            return Some(0);
        }
        let (shift, limit) = (self.ratio.ln().abs(), margin.abs().ln_1p());
        let (half, needed) = if shift > limit {
            (wide.map(f64::ln).half_width(), shift)
        } else {
            (narrow.map(f64::ln).half_width(), limit - shift)
        };
        let further = (self.pairs as f64 * ((half / needed).powi(2) - 1.0)).ceil();
        (further <= FORECAST_MAX).then_some(further.max(1.0) as usize)
    }

    /// The same for one row of many, whose difference counts only once its `q` is 5 %: p has to fall by as much as that,
    /// and its normal deviate rises with the root of the number.
    pub fn further_pairs_in_family(&self, margin: f64, q: f64) -> Option<usize> {
        let alone = self.further_pairs(margin)?;
        let is_beyond = self.ratio.ln().abs() > margin.abs().ln_1p();
        if self.interval.is_none() || !is_beyond || q <= LEVEL_OF_ALARMS {
            return Some(alone);
        }
        let deviate = |p: f64| -normal_quantile(p / 2.0);
        let (reached, needed) = (deviate(self.p), deviate(self.p * LEVEL_OF_ALARMS / q));
        let further = (self.pairs as f64 * ((needed / reached).powi(2) - 1.0)).ceil().max(alone as f64);
        (further <= FORECAST_MAX).then_some(further as usize)
    }

    /// Standard error of the log ratio, as the width of its interval tells it; `None` without an interval.
    pub fn standard_error(&self) -> Option<f64> {
        let degrees = u32::try_from(self.pairs.saturating_sub(1)).unwrap_or(u32::MAX);
        let reach = student_quantile(1.0 - LEVEL_OF_ALARMS, degrees);
        Some(self.interval?.map(f64::ln).half_width() / reach)
    }

    /// The same with intervals `factor` times as wide, on the log scale, and p to match: for what an A/A twin showed to be
    /// hidden from the intervals. A factor below 1 changes nothing.
    #[must_use]
    pub fn widened(&self, factor: f64) -> Self {
        let factor = if factor > 1.0 { factor } else { 1.0 };
        let wider = |interval: Interval| interval.map(|end| self.ratio * (end / self.ratio).powf(factor));
        Self {
            interval: self.interval.map(wider),
            equivalence_interval: self.equivalence_interval.map(wider),
            p: (2.0 * normal_cdf(normal_quantile(self.p / 2.0) / factor)).min(1.0),
            ..*self
        }
    }
}

/// Symmetric difference of two positive amounts in percent, 0 to 200: |a - b| over their mean. 0 for two zeros.
pub fn symmetric_percent(a: f64, b: f64) -> f64 {
    let mean = f64::midpoint(a, b);
    if mean == 0.0 { 0.0 } else { (100.0 * (a - b) / mean).abs() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Random;

    fn pairs(ratio: f64, noise: f64, count: usize, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Random::new(seed);
        (0..count)
            .map(|_| (10.0 * (noise * random.normal()).exp(), 10.0 * ratio * (noise * random.normal()).exp()))
            .collect()
    }

    fn made(ratio: f64, wide: [f64; 2], narrow: [f64; 2]) -> Comparison {
        Comparison {
            ratio,
            interval: Some(wide.into()),
            equivalence_interval: Some(narrow.into()),
            p: 0.01,
            pairs: 20,
        }
    }

    #[test]
    fn the_verdict_says_which_of_the_four_it_is() {
        for (ratio, noise, count, expected) in [
            (1.10, 0.01, 30, Verdict::Slower),
            (0.90, 0.01, 30, Verdict::Faster),
            (1.00, 0.005, 30, Verdict::Equivalent),
            (1.003, 0.002, 30, Verdict::Equivalent),
            (1.00, 0.10, 12, Verdict::Inconclusive),
            (1.50, 0.01, 4, Verdict::Inconclusive),
        ] {
            let comparison = Comparison::of_pairs(&pairs(ratio, noise, count, 8)).expect("pairs");
            assert_eq!(comparison.verdict(0.01), expected, "{comparison:?}");
        }
    }

    #[test]
    fn each_rule_of_the_verdict_holds_where_the_others_do_not() {
        for (comparison, verdict) in [
            (made(1.004, [1.001, 1.007], [1.002, 1.006]), Verdict::Equivalent),
            (made(1.001, [0.995, 1.012], [0.996, 1.009]), Verdict::Equivalent),
            (made(1.020, [1.001, 1.040], [1.004, 1.036]), Verdict::Slower),
            (made(0.970, [0.950, 0.990], [0.955, 0.985]), Verdict::Faster),
            // Real, and its estimate inside the margin, but perhaps beyond it.
            (made(1.008, [1.001, 1.015], [1.002, 1.014]), Verdict::Inconclusive),
            (made(1.020, [0.990, 1.050], [0.995, 1.045]), Verdict::Inconclusive),
        ] {
            assert_eq!(comparison.verdict(0.01), verdict, "{comparison:?}");
        }
    }

    #[test]
    fn a_row_of_many_differs_only_with_a_small_q() {
        let (differs, alike) =
            (made(1.02, [1.001, 1.04], [1.004, 1.036]), made(1.0, [0.999, 1.001], [0.999, 1.001]));
        for (q, verdict) in
            [(0.04, Verdict::Slower), (0.06, Verdict::Inconclusive), (f64::NAN, Verdict::Inconclusive)]
        {
            assert_eq!(differs.verdict_in_family(0.01, q), verdict);
            assert_eq!(alike.verdict_in_family(0.01, q), Verdict::Equivalent);
        }
    }

    #[test]
    fn equivalence_is_two_one_sided_tests() {
        // scipy.stats.wilcoxon(x - t, alternative=side, method="exact").pvalue: 0.0212 for t = 0.013 and "greater",
        // 0.0320 for t = 0.71 and "less": both ends lie just outside the 90 % interval.
        let logs = [0.3, -0.1, 0.8, 0.25, 1.7, -0.4, 0.6, 0.05, 0.9, -0.2, 0.45, 0.15];
        let interval = Comparison::of_log_ratios(&logs).expect("logs").equivalence_interval.expect("twelve");
        let interval = interval.map(f64::ln);
        assert!(interval.low > 0.013 && interval.high < 0.71, "{interval}");
        for (t, expected) in [(0.013, 0.021_240_234_375), (0.71, 0.031_982_421_875)] {
            let moved: Vec<f64> = logs.iter().map(|x| x - t).collect();
            assert!((signed_rank_p(&moved) / 2.0 - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn identical_arms_seldom_differ() {
        let wrong = (0..300)
            .filter(|seed| {
                let comparison = Comparison::of_pairs(&pairs(1.0, 0.02, 20, *seed)).expect("pairs");
                matches!(comparison.verdict(0.0), Verdict::Faster | Verdict::Slower)
            })
            .count();
        assert!((4..=27).contains(&wrong), "{wrong} of 300 at a level of 5 %");
    }

    #[test]
    fn an_inconclusive_comparison_says_how_many_pairs_it_wants() {
        let comparison = made(1.0, [0.96, 1.04], [0.97, 1.03]);
        let more = comparison.further_pairs(0.01).expect("a width");
        assert!((150..190).contains(&more), "nine times the pairs, less those there are: {more}");
        assert_eq!(made(1.5, [1.4, 1.6], [1.4, 1.6]).further_pairs(0.01), Some(0));
        assert_eq!(made(1.009_999, [0.96, 1.06], [0.97, 1.05]).further_pairs(0.01), None);
        let few = Comparison::of_pairs(&pairs(1.0, 0.05, 4, 3)).expect("pairs");
        assert_eq!((few.interval, few.further_pairs(0.01)), (None, Some(2)));
        assert_eq!(Comparison::of_pairs(&[(0.0, 1.0), (f64::NAN, 1.0)]), None);
    }

    #[test]
    fn one_row_of_many_wants_as_many_pairs_as_its_q_does() {
        let alone = made(1.5, [1.4, 1.6], [1.4, 1.6]);
        let of_many = Comparison { p: 0.035, pairs: 29, ..alone };
        // isf(0.05 * 0.035 / 0.526 / 2) = 2.936 against isf(0.035 / 2) = 2.108, statistics.NormalDist of Python
        assert_eq!(of_many.further_pairs_in_family(0.01, 0.526), Some(28));
        assert_eq!(of_many.further_pairs_in_family(0.01, 0.05), Some(0));
        assert_eq!(Comparison { p: 1.0, ..of_many }.further_pairs_in_family(0.01, 1.0), None);
        let inside = made(1.0, [0.96, 1.04], [0.97, 1.03]);
        assert_eq!(inside.further_pairs_in_family(0.01, 1.0), inside.further_pairs(0.01));
    }

    #[test]
    fn groups_are_compared_by_ranks_and_need_four_each() {
        let (first, second) = ([10.1, 10.4, 9.8, 10.0], [10.9, 11.3, 10.7, 10.5]);
        let comparison = Comparison::of_groups(&first, &second).expect("groups");
        assert_eq!((comparison.verdict(0.01), comparison.pairs), (Verdict::Slower, 4));
        let few = Comparison::of_groups(&first[..3], &second[..3]).expect("groups");
        assert_eq!((few.interval, few.verdict(0.01)), (None, Verdict::Inconclusive));
        assert_eq!(Comparison::of_groups(&[-1.0], &second), None);
    }

    #[test]
    fn widening_keeps_the_ratio_and_takes_back_certainty() {
        let narrow = Comparison::of_pairs(&pairs(1.02, 0.01, 20, 5)).expect("pairs");
        let wide = narrow.widened(3.0);
        assert!((narrow.ratio - wide.ratio).abs() < 1e-12 && wide.p > narrow.p);
        let width = |comparison: &Comparison| comparison.interval.expect("twenty").map(f64::ln).half_width();
        assert!((width(&wide) / width(&narrow) - 3.0).abs() < 1e-6);
        let same = narrow.widened(0.5);
        assert!((width(&same) / width(&narrow) - 1.0).abs() < 1e-9 && (same.p / narrow.p - 1.0).abs() < 1e-6);
    }

    #[test]
    fn symmetric_differences_are_those_of_the_article() {
        assert!((symmetric_percent(100.0, 100.0)).abs() < 1e-12);
        assert!((symmetric_percent(1.0, 3.0) - 100.0).abs() < 1e-12);
        assert!((symmetric_percent(0.0, 5.0) - 200.0).abs() < 1e-12);
        assert!((symmetric_percent(0.0, 0.0)).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn a_symmetric_difference_is_the_tangent_of_half_the_log_ratio(a in 1e-3..1e3_f64, b in 1e-3..1e3_f64) {
            let expected = 200.0 * ((a / b).ln().abs() / 2.0).tanh();
            prop_assert!((symmetric_percent(a, b) - expected).abs() < 1e-9);
            prop_assert!((symmetric_percent(a, b) - symmetric_percent(b, a)).abs() < 1e-12);
        }

        #[test]
        fn swapping_the_arms_swaps_the_verdict(
            logs in proptest::collection::vec(-0.05..0.05_f64, 1..30), shift in -0.05..0.05_f64, margin in 0.0..0.05_f64,
        ) {
            let logs: Vec<f64> = logs.iter().map(|x| x + shift).collect();
            let back: Vec<f64> = logs.iter().map(|x| -x).collect();
            let (there, back) = (Comparison::of_log_ratios(&logs), Comparison::of_log_ratios(&back));
            let (there, back) = (there.expect("logs").verdict(margin), back.expect("logs").verdict(margin));
            let swapped = match back {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                same => same,
            };
            prop_assert_eq!(there, swapped);
        }
    }
}
