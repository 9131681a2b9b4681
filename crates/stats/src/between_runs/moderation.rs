//! Variances that borrow from each other: what many rows with few degrees of freedom each say together.
//!
//! Smyth, Linear models and empirical Bayes methods for assessing differential expression (2004), section 6: variances of rows are taken
//! to come from a scaled inverse chi-square distribution; its two parameters are found from the mean and the variance of their logarithms.

use crate::{mean, sample_variance};

/// No class is worth more than this beside a row's own degrees of freedom: rows are never quite alike.
const MOST_DEGREES: f64 = 60.0;

/// A row whose variance is below this share of the median counts as this share: rounding makes variances of zero, and the
/// logarithm of nothing would drown all others.
const LEAST_SHARE: f64 = 1e-5;

/// A spread of a millionth is below what any row resolves.
const LEAST_VARIANCE: f64 = 1e-12;

/// Fewer rows do not tell how variances spread.
const FEWEST_ROWS: usize = 4;

/// A variance and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// The variance.
    pub value: f64,
    /// How much it is worth.
    pub degrees: f64,
}

impl Variance {
    /// Of values about their mean; of fewer than two, or of what has none, nothing.
    pub fn of(values: &[f64]) -> Self {
        let value = sample_variance(values);
        let is_known = values.len() > 1 && value.is_finite();
        Self { value: if is_known { value } else { 0.0 }, degrees: values.len().saturating_sub(1) as f64 }
    }
}

/// The distribution that the variances of a class come from; `None` for fewer than four rows.
pub(super) fn distribution(rows: &[Variance]) -> Option<Variance> {
    if rows.len() < FEWEST_ROWS {
        return None;
    }
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    let floor = (LEAST_SHARE * crate::median(&values)?).max(LEAST_VARIANCE);
    let count = rows.len() as f64;
    let logs: Vec<f64> = rows
        .iter()
        .map(|row| row.value.max(floor).ln() - digamma(row.degrees / 2.0) + (row.degrees / 2.0).ln())
        .collect();
    let mean = mean(&logs);
    let chance = rows.iter().map(|row| trigamma(row.degrees / 2.0)).sum::<f64>() / count;
    let left = sample_variance(&logs) - chance;
    // Variances that spread by no more than chance are all one.
    let degrees = if left > 0.0 { (2.0 * inverse_trigamma(left)).min(MOST_DEGREES) } else { MOST_DEGREES };
    let value = (mean + digamma(degrees / 2.0) - (degrees / 2.0).ln()).exp();
    Some(Variance { value, degrees })
}

/// A row's variance drawn towards what its class knows; nothing where neither knows anything.
pub fn moderated(own: Variance, class: Variance) -> Variance {
    let degrees = own.degrees + class.degrees;
    Variance {
        value: (own.degrees * own.value + class.degrees * class.value) / degrees.max(f64::MIN_POSITIVE),
        degrees,
    }
}

/// Arguments below this are raised by the recurrence before the asymptotic series is used.
const ASYMPTOTIC_FROM: f64 = 8.0;

/// Derivative of the logarithm of the gamma function, for `x` above 0 (Abramowitz and Stegun 6.3.5 and 6.3.18).
fn digamma(mut x: f64) -> f64 {
    let mut raised = 0.0;
    while x < ASYMPTOTIC_FROM {
        raised -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    raised + x.ln() - 0.5 / x - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)))
}

/// Its derivative (Abramowitz and Stegun 6.4.6 and 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut raised = 0.0;
    while x < ASYMPTOTIC_FROM {
        raised += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    raised + 1.0 / x + y / 2.0 + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)))
}

/// The x whose trigamma is `value`, by bisection on the logarithm: it falls from infinity to zero.
fn inverse_trigamma(value: f64) -> f64 {
    const HALVINGS: usize = 80;
    let (mut low, mut high) = (1e-8_f64.ln(), 1e8_f64.ln());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if trigamma(middle.exp()) > value { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn gamma_functions_equal_their_closed_forms() {
        let euler = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + euler).abs() < 1e-8);
        assert!((digamma(0.5) + euler + 2.0 * 2.0_f64.ln()).abs() < 1e-8);
        let square = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - square / 6.0).abs() < 1e-8 && (trigamma(0.5) - square / 2.0).abs() < 1e-8);
        for x in [0.3, 1.0, 7.0, 90.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6, "{x}");
        }
    }

    /// A variance with so many degrees of freedom around `truth`.
    fn drawn(random: &mut Random, truth: f64, degrees: usize) -> f64 {
        truth * (0..degrees).map(|_| random.normal().powi(2)).sum::<f64>() / degrees as f64
    }

    #[test]
    fn the_parameters_that_variances_were_drawn_from_are_found_again() {
        let mut random = Random::new(3);
        let rows: Vec<Variance> = (0..2000)
            .map(|_| {
                let truth = 4.0 / drawn(&mut random, 1.0, 8);
                Variance { value: drawn(&mut random, truth, 3), degrees: 3.0 }
            })
            .collect();
        let found = distribution(&rows).expect("many rows");
        assert!((6.5..9.5).contains(&found.degrees) && (3.7..4.3).contains(&found.value), "{found:?}");
    }

    #[test]
    fn equal_variances_are_one_and_a_row_of_zeros_does_not_drown_them() {
        let mut random = Random::new(4);
        let mut rows: Vec<Variance> =
            (0..200).map(|_| Variance { value: drawn(&mut random, 1.0, 4), degrees: 4.0 }).collect();
        assert!(distribution(&rows).expect("rows").degrees > 30.0);
        rows[0].value = 0.0;
        let found = distribution(&rows).expect("rows");
        assert!(found.value > 0.5 && found.value.is_finite(), "{found:?}");
        assert_eq!(distribution(&rows[..3]), None);
    }
}
