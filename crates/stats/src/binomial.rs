//! Counts of successes: the exact interval of a share, and how many false alarms chance explains.

use crate::Interval;
use crate::beta::incomplete_beta;

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
