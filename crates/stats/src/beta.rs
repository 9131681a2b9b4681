//! The regularised incomplete beta function: the distribution behind exact intervals of a share.

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
