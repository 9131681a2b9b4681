//! Counts of successes: the exact interval of a share, and how many false alarms chance explains.

use crate::Interval;

/// Bisection halves the bracket this often: far below any rounding that is shown.
const HALVINGS: usize = 60;

/// Probability of at most `successes` in `trials` that each succeed with `probability`.
fn binomial_at_most(successes: usize, trials: usize, probability: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    incomplete_beta((trials - successes) as f64, (successes + 1) as f64, 1.0 - probability)
}

/// The smallest count that is not exceeded with a probability of at least `level`.
pub fn binomial_quantile(level: f64, trials: usize, probability: f64) -> usize {
    let (mut low, mut high) = (0, trials);
    while low < high {
        let middle = low.midpoint(high);
        if binomial_at_most(middle, trials, probability) >= level { high = middle } else { low = middle + 1 }
    }
    low
}

/// Exact interval of a share after `successes` in `trials` (Clopper and Pearson 1934); `None` without a trial.
///
/// Never covers less often than `level` says, and often more.
pub fn clopper_pearson(successes: usize, trials: usize, level: f64) -> Option<Interval> {
    if trials == 0 {
        return None;
    }
    let successes = successes.min(trials);
    let tail = (1.0 - level) / 2.0;
    let (hit, missed) = (successes as f64, (trials - successes) as f64);
    let low = if successes == 0 { 0.0 } else { beta_quantile(tail, hit, missed + 1.0) };
    let high = if successes == trials { 1.0 } else { beta_quantile(1.0 - tail, hit + 1.0, missed) };
    Some(Interval { low, high })
}

/// The x below which the share `level` of the beta distribution lies.
fn beta_quantile(level: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if incomplete_beta(a, b, middle) < level { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

// The regularised incomplete beta function: the distribution behind exact intervals of a share.

/// From here on Stirling's series has converged; smaller arguments are raised by recurrence.
const STIRLING_FROM: f64 = 10.0;

/// The continued fraction stops when a step changes it by less than this.
const SMALLEST_STEP: f64 = 1e-15;

/// Steps of the continued fraction: it needs about the root of the larger argument, so this serves to a million.
const STEPS_MAX: u32 = 5000;

/// Stands in for a zero denominator in Lentz's method.
const TINY: f64 = 1e-300;

/// Logarithm of the gamma function for a positive argument, by Stirling's series (Abramowitz and Stegun 6.1.41).
fn ln_gamma(argument: f64) -> f64 {
    let (mut x, mut product) = (argument, 1.0);
    while x < STIRLING_FROM {
        product *= x;
        x += 1.0;
    }
    let square = x * x;
    // The coefficients are B(2n) / (2n (2n - 1)) of Bernoulli's numbers.
    let series = (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}

/// Share of the beta distribution with the positive shapes `a` and `b` that lies below `x`; 0 and 1 outside (0, 1).
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast on this side of the mean; the other side is its mirror image.
    if x <= (a + 1.0) / (a + b + 2.0) {
        (front * fraction(a, b, x) / a).clamp(0.0, 1.0)
    } else {
        (1.0 - front * fraction(b, a, 1.0 - x) / b).clamp(0.0, 1.0)
    }
}

/// The continued fraction of Abramowitz and Stegun 26.5.8, by Lentz's method as Thompson and Barnett (1986) have it.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut above, mut below) = (1.0, TINY.recip(), 1.0);
    for step in 1..STEPS_MAX {
        let m = f64::from(step / 2);
        let numerator = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        below = 1.0 / away(1.0 + numerator * below);
        above = away(1.0 + numerator / above);
        value *= above * below;
        if (above * below - 1.0).abs() < SMALLEST_STEP {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn intervals_equal_scipy() {
        // scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact")
        for (successes, trials, low, high) in [
            (0, 10, 0.0, 0.308_497_107_818_762_94),
            (10, 10, 0.691_502_892_181_237_1, 1.0),
            (3, 20, 0.032_070_937_185_544_77, 0.378_926_826_545_295_64),
            (2, 100, 0.002_431_336_823_924_793_5, 0.070_383_932_472_551_07),
            (100, 2000, 0.040_864_267_718_256_76, 0.060_481_722_083_110_326),
            (140, 2000, 0.059_204_766_022_708_154, 0.082_075_298_076_835_3),
        ] {
            let found = clopper_pearson(successes, trials, 0.95).expect("trials");
            let near = (found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9;
            assert!(near, "{successes} of {trials}: {found:.9}");
        }
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
    }

    #[test]
    fn probabilities_and_quantiles_equal_scipy() {
        // scipy.stats.binom.cdf(k, n, p)
        for (successes, trials, probability, expected) in [
            (3, 20, 0.05, 0.984_098_473_980_236_4),
            (0, 12, 0.05, 0.540_360_087_662_637),
            (110, 2000, 0.05, 0.858_876_504_581_947_2),
            (399, 400, 0.99, 0.982_049_446_724_954_9),
        ] {
            let found = binomial_at_most(successes, trials, probability);
            assert!((found - expected).abs() < 1e-10, "{successes} of {trials}: {found}");
        }
        // scipy.stats.binom.ppf(0.99, n, 0.05)
        for (trials, expected) in
            [(1, 1), (5, 2), (10, 3), (20, 4), (100, 11), (200, 18), (400, 31), (1000, 67)]
        {
            assert_eq!(binomial_quantile(0.99, trials, 0.05), expected, "{trials}");
        }
        assert_eq!(binomial_quantile(0.99, 0, 0.05), 0);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_share_and_leaves_half_the_rest_on_each_side(trials in 1..500_usize, part in 0.0..1.0) {
            let successes = (trials as f64 * part) as usize;
            let found = clopper_pearson(successes, trials, 0.95).expect("trials");
            prop_assert!(found.contains(successes as f64 / trials as f64));
            if successes < trials {
                prop_assert!((binomial_at_most(successes, trials, found.high) - 0.025).abs() < 1e-9);
            }
            if successes > 0 {
                prop_assert!((1.0 - binomial_at_most(successes - 1, trials, found.low) - 0.025).abs() < 1e-9);
            }
        }

        #[test]
        fn the_quantile_is_the_first_count_that_is_likely_enough(trials in 1..300_usize, probability in 0.01..0.99) {
            let count = binomial_quantile(0.99, trials, probability);
            prop_assert!(binomial_at_most(count, trials, probability) >= 0.99);
            prop_assert!(count == 0 || binomial_at_most(count - 1, trials, probability) < 0.99);
        }
    }
}

#[cfg(test)]
mod beta_tests {
    use super::*;

    #[test]
    fn values_equal_scipy() {
        // scipy.special.gammaln(x)
        for (x, expected) in [
            (0.5, 0.572_364_942_924_7),
            (3.7, 1.428_072_326_665_388),
            (10.0, 12.801_827_480_081_469),
            (1234.5, 7_550.550_901_077_894),
        ] {
            assert!((ln_gamma(x) / expected - 1.0).abs() < 1e-12, "{x}: {}", ln_gamma(x));
        }
        // scipy.special.betainc(a, b, x)
        for (a, b, x, expected) in [
            (2.0, 3.0, 0.4, 0.524_799_999_999_999_9),
            (0.5, 0.5, 0.1, 0.204_832_764_699_133_45),
            (50.0, 2000.0, 0.03, 0.943_207_393_407_750_1),
            (7.5, 1.0, 0.9, 0.453_752_280_539_336_86),
            (1900.0, 101.0, 0.96, 0.988_376_126_613_983_9),
        ] {
            let found = incomplete_beta(a, b, x);
            assert!((found - expected).abs() < 1e-11, "{a} {b} {x}: {found}");
        }
    }

    #[test]
    fn outside_of_the_unit_interval_all_or_nothing_lies_below() {
        for (x, expected) in [(-1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (f64::NAN, 0.0)] {
            assert!((incomplete_beta(2.0, 3.0, x) - expected).abs() < 1e-15, "{x}");
        }
    }
}
