//! Modified z scores: how far a value stands from the rest, on a scale that the value itself does not stretch.

use crate::median;
use crate::quantile::median_absolute_deviation;

/// Scales median absolute deviations to standard deviations: probit(3/4). Iglewicz and Hoaglin (1993), page 11.
const NORMAL_DEVIATION: f64 = 0.674_489_750_196_081_7;

/// Scales mean absolute deviations to standard deviations: the root of pi / 2.
const NORMAL_MEAN_DEVIATION: f64 = 1.253_314_137_315_500_3;

/// Beyond this a value is an outlier. Source: Iglewicz and Hoaglin (1993), page 12.
pub const OUTLIER_FROM: f64 = 3.5;

/// Distance of each value from the median in robust standard deviations, in the order given; NaN for what is not finite.
///
/// From the median absolute deviation; where more than half of the values are equal, from the mean absolute deviation
/// instead, as Iglewicz and Hoaglin advise; 0 where all are.
pub fn modified_z(values: &[f64]) -> Vec<f64> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let centre = median(values).unwrap_or(f64::NAN);
    let deviation = median_absolute_deviation(values).unwrap_or(f64::NAN) / NORMAL_DEVIATION;
    let mean = finite().map(|value| (value - centre).abs()).sum::<f64>() / finite().count() as f64;
    let scale = if deviation > 0.0 { deviation } else { NORMAL_MEAN_DEVIATION * mean };
    let score = |value: f64| if scale > 0.0 { (value - centre) / scale } else { 0.0 };
    values.iter().map(|value| if value.is_finite() { score(*value) } else { f64::NAN }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_equal_scipy() {
        // 0.6744897501960817 * (x - numpy.median(x)) / scipy.stats.median_abs_deviation(x)
        let values = [0.3, -0.1, 0.8, 0.25, 1.7, -0.4];
        let longer = [values.as_slice(), &[0.6, 0.05, 0.9, -0.2, 0.45, 0.15]].concat();
        let expected = [
            0.048_177_839_299_720_17,
            -0.722_667_589_495_801_9,
            1.011_734_625_294_122_8,
            -0.048_177_839_299_720_165,
            2.746_136_840_084_047,
            -1.300_801_661_092_443_3,
        ];
        for (found, expected) in modified_z(&longer).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn an_outlier_among_equals_is_seen_and_equals_have_none() {
        let mut values = vec![5.0; 20];
        assert!(modified_z(&values).iter().all(|z| z.abs() < 1e-12));
        values.extend([9.0, f64::NAN]);
        let found = modified_z(&values);
        assert!(found[20] > OUTLIER_FROM && found[0].abs() < 1e-12 && found[21].is_nan(), "{found:?}");
        assert!(modified_z(&[]).is_empty());
    }
}
