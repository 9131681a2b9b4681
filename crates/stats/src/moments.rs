//! The mean and the variance of a sample.

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

    #[test]
    fn too_few_values_have_no_moment_and_three_have_both() {
        assert!(mean(&[]).is_nan() && sample_variance(&[3.0]).is_nan());
        assert!((mean(&[1.0, 2.0, 6.0]) - 3.0).abs() < 1e-12);
        assert!((sample_variance(&[1.0, 2.0, 6.0]) - 7.0).abs() < 1e-12);
    }
}
