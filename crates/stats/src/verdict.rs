//! What a difference amounts to: faster, slower, equivalent within a margin stated before, or not known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Interval, hodges_lehmann, signed_rank_p};

/// The outcome of a comparison; `inconclusive` is one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

/// A comparison by pairs of durations, on the log of their ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Ratio of the second to the first: above 1 the second takes longer.
    pub ratio: f64,
    /// 95 % interval of the ratio; `None` for fewer than 6 pairs.
    pub interval: Option<Interval>,
    /// 90 % interval, for equivalence by two one-sided tests at 5 %; `None` for fewer than 5 pairs.
    pub equivalence_interval: Option<Interval>,
    /// Two-sided p of the signed-rank test.
    pub p: f64,
    /// Pairs used.
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
        let (wide, narrow) = (hodges_lehmann(&logs, 0.95)?, hodges_lehmann(&logs, 0.90)?);
        Some(Self {
            ratio: wide.value.exp(),
            interval: wide.interval.map(|interval| interval.map(f64::exp)),
            equivalence_interval: narrow.interval.map(|interval| interval.map(f64::exp)),
            p: signed_rank_p(&logs),
            pairs: wide.pairs,
        })
    }

    /// The verdict for a margin such as 0.01 (1 %): differences inside it are of no practical matter.
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

    /// About how many pairs more would bring the half-width to the margin, as widths shrink with the root of their
    /// number; `None` if the width is not known yet.
    pub fn further_pairs(&self, margin: f64) -> Option<usize> {
        let half = self.equivalence_interval?.map(f64::ln).half_width();
        let wanted = margin.abs().ln_1p();
        if half <= wanted {
            return Some(0);
        }
        let factor = (half / wanted).powi(2);
        factor.is_finite().then(|| (self.pairs as f64 * (factor - 1.0)).ceil() as usize)
    }
}

/// Symmetric difference of two positive amounts in percent, 0 to 200: |a - b| over their mean. 0 for two zeros.
pub fn symmetric_percent(a: f64, b: f64) -> f64 {
    let mean = f64::midpoint(a, b);
    if mean == 0.0 { 0.0 } else { (100.0 * (a - b) / mean).abs() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn pairs(ratio: f64, noise: f64, count: usize, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Random::new(seed);
        (0..count)
            .map(|_| (10.0 * (noise * random.normal()).exp(), 10.0 * ratio * (noise * random.normal()).exp()))
            .collect()
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
        let comparison = Comparison::of_pairs(&pairs(1.0, 0.05, 20, 3)).expect("pairs");
        let more = comparison.further_pairs(0.01).expect("a width");
        assert!((100..2000).contains(&more), "{more}");
        assert_eq!(Comparison::of_pairs(&[(0.0, 1.0), (f64::NAN, 1.0)]), None);
    }

    #[test]
    fn symmetric_differences_are_those_of_the_article() {
        assert!((symmetric_percent(100.0, 100.0)).abs() < 1e-12);
        assert!((symmetric_percent(1.0, 3.0) - 100.0).abs() < 1e-12);
        assert!((symmetric_percent(0.0, 5.0) - 200.0).abs() < 1e-12);
        assert!((symmetric_percent(0.0, 0.0)).abs() < 1e-12);
    }
}
