//! Order statistics: quantiles, median, spread, and the interval of a quantile without any distribution assumed; mean and variance.
//!
//! Quantiles interpolate linearly between neighbours (type 7 of Hyndman and Fan 1996, the default of R and NumPy).

use crate::Interval;

/// 97.5 % point of the normal distribution: 1.959964 standard errors on each side make 95 %.
const NORMAL_97_5: f64 = 1.959_964;

/// Scales the median absolute deviation to the standard deviation of a normal distribution: 1 / probit(3/4).
pub(crate) const MAD_TO_STANDARD_DEVIATION: f64 = 1.482_602_218_505_602;

/// The finite values in ascending order; NaN and infinities are not measurements.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    finite.sort_unstable_by(f64::total_cmp);
    finite
}

/// Quantile of values in any order, `q` from 0 to 1; `None` without a finite value.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), q)
}

/// Quantile of values that ascend; `None` for an empty slice.
pub fn quantile_of_sorted(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    // Halves first: the difference of two huge values of opposite sign would overflow.
    let share = position - below as f64;
    Some(if share == 0.0 { low } else { low * (1.0 - share) + high * share })
}

/// The ends between which the middle share `level` of values that ascend lies; `None` for an empty slice.
pub(crate) fn middle_of_sorted(ascending: &[f64], level: f64) -> Option<Interval> {
    let tail = (1.0 - level) / 2.0;
    Some(Interval {
        low: quantile_of_sorted(ascending, tail)?,
        high: quantile_of_sorted(ascending, 1.0 - tail)?,
    })
}

/// Median of values in any order; `None` without a finite value.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Median absolute deviation from the median, unscaled; `None` without a finite value.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&distances)
}

/// Standard deviation as the median absolute deviation sees it: blind to outliers; `None` without a finite value.
pub fn robust_standard_deviation(values: &[f64]) -> Option<f64> {
    median_absolute_deviation(values).map(|deviation| deviation * MAD_TO_STANDARD_DEVIATION)
}

/// 95 % interval of quantile `q` by order statistics; `None` for an empty slice.
///
/// The rank of the true quantile is binomial; its normal approximation is rounded outwards. Where a rank falls off the
/// end the extreme value stands in: with few windows the low end of a low quantile is the minimum, which is close
/// to the truth for durations (noise only adds time) and only there.
pub fn quantile_interval(ascending: &[f64], q: f64) -> Option<Interval> {
    let last = ascending.len().checked_sub(1)?;
    let (count, q) = (ascending.len() as f64, q.clamp(0.0, 1.0));
    let centre = q * last as f64;
    let reach = NORMAL_97_5 * (count * q * (1.0 - q)).sqrt();
    let low = (centre - reach).floor().max(0.0) as usize;
    let high = ((centre + reach).ceil() as usize).min(last);
    Some(Interval { low: ascending[low.min(last)], high: ascending[high] })
}

// The mean and the variance of a sample.

/// The mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The squared distances from the mean over one less than their number: the unbiased variance; NaN for fewer than two values.
pub fn sample_variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.quantile(x, q)` with x = [3.1, 0.2, 9.5, 4.4, 4.4, -1.0, 7.25].
    const SAMPLE: [f64; 7] = [3.1, 0.2, 9.5, 4.4, 4.4, -1.0, 7.25];

    #[test]
    fn quantiles_equal_numpy() {
        for (q, expected) in [(0.0, -1.0), (0.1, -0.28), (0.25, 1.65), (0.5, 4.4), (0.75, 5.825), (1.0, 9.5)]
        {
            let found = quantile(&SAMPLE, q).expect("seven values");
            assert!((found - expected).abs() < 1e-12, "q {q}: {found}");
        }
        // scipy.stats.median_abs_deviation(x) = 2.85
        assert!((median_absolute_deviation(&SAMPLE).expect("seven values") - 2.85).abs() < 1e-12);
    }

    #[test]
    fn nothing_has_no_quantile_and_nan_is_not_a_value() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[f64::NAN, f64::INFINITY], 0.5), None);
        assert_eq!(quantile(&[f64::NAN, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[f64::MAX, f64::MIN], 0.5), Some(0.0));
    }

    #[test]
    fn the_interval_of_a_median_has_the_ranks_of_the_tables() {
        // n = 20: ranks 6 and 15 (1-based) cover 95.9 % (Conover 1999, binomial); outwards rounding may add one.
        let ascending: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = quantile_interval(&ascending, 0.5).expect("20 values");
        assert!(interval.low <= 6.0 && interval.low >= 5.0, "{interval}");
        assert!(interval.high >= 15.0 && interval.high <= 16.0, "{interval}");
    }
}

#[cfg(test)]
mod moments_tests {
    use super::*;

    #[test]
    fn too_few_values_have_no_moment_and_three_have_both() {
        assert!(mean(&[]).is_nan() && sample_variance(&[3.0]).is_nan());
        assert!((mean(&[1.0, 2.0, 6.0]) - 3.0).abs() < 1e-12);
        assert!((sample_variance(&[1.0, 2.0, 6.0]) - 7.0).abs() < 1e-12);
    }
}
