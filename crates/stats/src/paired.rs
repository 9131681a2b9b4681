//! Differences of adjacent pairs: the datum is the difference, so that drift slower than a pair cancels.

use crate::{Interval, hodges_lehmann, quantile_interval, quantile_of_sorted, sorted};

/// Above this many pairs the order statistics of the median are narrow enough, and assume no symmetry.
const WALSH_UP_TO: usize = 120;

/// The typical difference of pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDelta {
    /// Median of the differences, never the difference of medians.
    pub median: f64,
    /// 95 % interval, always holding the median: Hodges-Lehmann with Wilcoxon's exact bounds for 6 to 120 pairs, order
    /// statistics of the median above; for fewer than 6 pairs the whole range, which is less than 95 %.
    pub interval: Interval,
    /// Finite differences used.
    pub pairs: usize,
}

/// Median difference and its 95 % interval; `None` without a finite difference.
pub fn paired_delta(differences: &[f64]) -> Option<PairedDelta> {
    let ascending = sorted(differences);
    let median = quantile_of_sorted(&ascending, 0.5)?;
    let pairs = ascending.len();
    let interval = if pairs <= WALSH_UP_TO {
        let range = Interval { low: ascending[0], high: ascending[pairs - 1] };
        hodges_lehmann(differences, 0.95).and_then(|shift| shift.interval).unwrap_or(range)
    } else {
        quantile_interval(&ascending, 0.5)?
    };
    let interval = interval.hull(&Interval { low: median, high: median });
    Some(PairedDelta { median, interval, pairs })
}

/// The mean log ratio of each quad from those of its two pairs, in the order taken.
///
/// One random draw orders a quad as a whole, so that quads, not pairs, are what chance has drawn: a disturbance
/// with the period of a quad puts the same sign on both pairs. By quads the test is exact whatever the disturbance; by
/// pairs it raised 12 % false alarms at 5 % (METHODOLOGY.md, "Comparisons"). Its price: an outlier spoils a whole quad,
/// so that intervals are up to several times as wide; [`random_pairs`](crate::random_pairs) is exact without it. Where one pair is NaN, the other stands
/// for the quad; a last pair alone is no quad.
pub fn quad_means(log_ratios: &[f64]) -> Vec<f64> {
    let mean = |pairs: &[f64; 2]| match pairs.map(f64::is_finite) {
        [true, false] => pairs[0],
        [false, true] => pairs[1],
        _ => f64::midpoint(pairs[0], pairs[1]),
    };
    let (quads, _) = log_ratios.as_chunks();
    quads.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn the_interval_of_a_delta_covers_the_true_one_as_often_as_it_says() {
        let mut random = Random::new(17);
        for pairs in [7, 15, 60, 200] {
            let covered = (0..400)
                .filter(|_| {
                    let deltas: Vec<f64> = (0..pairs).map(|_| 3.0 + random.normal()).collect();
                    paired_delta(&deltas).is_some_and(|delta| delta.interval.contains(3.0))
                })
                .count();
            assert!((366..=398).contains(&covered), "{pairs} pairs: {covered} of 400");
        }
    }

    #[test]
    fn a_quad_is_the_mean_of_its_pairs_or_the_one_that_is_left() {
        let found = quad_means(&[1.0, 3.0, f64::NAN, 5.0, 6.0, f64::NAN, f64::NAN, f64::NAN, 9.0]);
        let expected = [2.0, 5.0, 6.0];
        assert_eq!(found.len(), 4);
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
        assert!(found[3].is_nan());
    }

    #[test]
    fn few_pairs_show_their_range_and_none_show_nothing() {
        let few = paired_delta(&[1.0, 3.0, f64::NAN, 2.0]).expect("three finite");
        assert_eq!((few.median, few.pairs, few.interval), (2.0, 3, Interval { low: 1.0, high: 3.0 }));
        assert_eq!(paired_delta(&[f64::NAN]), None);
    }
}
