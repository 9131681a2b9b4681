//! Quantiles of the normal and of Student's distribution.

/// Bisection halves the bracket this often: far below any rounding that is shown.
const HALVINGS: usize = 60;

/// Beyond this a double holds no smaller tail.
const LARGEST_Z: f64 = 40.0;

/// No tail needs a t beyond this: at one degree of freedom it leaves a tail of 3e-7.
const LARGEST_T: f64 = 1.0e6;

/// Half-width of a 95 % interval in standard errors, where these are known well.
pub const STANDARD_ERRORS_OF_95: f64 = 1.96;

/// Probability that a standard normal number is below `z`.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * complementary_error(-z / std::f64::consts::SQRT_2)
}

/// The z below which a standard normal number falls with probability `p`, by bisection; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() || p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (-LARGEST_Z, LARGEST_Z);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if normal_cdf(middle) < p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The complementary error function: its Taylor series near zero, its continued fraction beyond
/// (Abramowitz and Stegun 7.1.5 and 7.1.14). Relative error below 1e-10.
fn complementary_error(x: f64) -> f64 {
    /// Beyond this the fraction converges faster, and the series loses digits to cancellation.
    const SERIES_LIMIT: f64 = 2.0;
    /// Terms of the series and depth of the fraction that leave no error at the limit.
    const TERMS: u32 = 60;
    let magnitude = x.abs();
    let positive = if magnitude < SERIES_LIMIT {
        let (mut power, mut sum) = (magnitude, magnitude);
        for n in 1..TERMS {
            power *= -magnitude * magnitude / f64::from(n);
            sum += power / f64::from(2 * n + 1);
        }
        1.0 - sum * std::f64::consts::FRAC_2_SQRT_PI
    } else {
        let fraction = (1..TERMS).rev().fold(magnitude, |below, k| magnitude + f64::from(k) / 2.0 / below);
        (-magnitude * magnitude).exp() / fraction * (std::f64::consts::FRAC_2_SQRT_PI / 2.0)
    };
    if x >= 0.0 { positive } else { 2.0 - positive }
}

/// Probability that |t| is above `t` with `degrees` of freedom, by the finite series for whole degrees
/// (Abramowitz and Stegun 26.7.3 and 26.7.4).
pub fn student_two_sided(t: f64, degrees: u32) -> f64 {
    let degrees = degrees.max(1);
    let angle = (t.abs() / f64::from(degrees).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    let (mut term, mut sum) = if odd { (cosine, 0.0) } else { (1.0, 1.0) };
    let mut next = if odd { 1 } else { 2 };
    while next < degrees {
        // The series of odd degrees starts with cos, 2/3 cos^3, ...; of even ones with 1, 1/2 cos^2, ...
        if odd {
            sum += term;
            term *= cosine * cosine * f64::from(next + 1) / f64::from(next + 2);
        } else {
            term *= cosine * cosine * f64::from(next - 1) / f64::from(next);
            sum += term;
        }
        next += 2;
    }
    let inside = if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// The t that |t| exceeds with probability `1 - level`, for `degrees` of freedom (at least 1).
pub fn student_quantile(level: f64, degrees: u32) -> f64 {
    let tail = (1.0 - level).clamp(0.0, 1.0);
    let (mut low, mut high) = (0.0, 2.0);
    while student_two_sided(high, degrees) > tail && high < LARGEST_T {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if student_two_sided(middle, degrees) > tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_values_equal_scipy() {
        // scipy.stats.norm.ppf(p)
        for (p, expected) in [
            (0.975, 1.959_963_984_540_054),
            (0.95, 1.644_853_626_951_472_2),
            (0.5, 0.0),
            (0.001, -3.090_232_306_167_813),
            (0.01, -2.326_347_874_040_840_8),
        ] {
            assert!((normal_quantile(p) - expected).abs() < 2e-6, "p {p}: {}", normal_quantile(p));
        }
        // scipy.stats.norm.cdf(-4.5)
        assert!((normal_cdf(-4.5) / 3.397_673_1e-6 - 1.0).abs() < 1e-6);
        assert!(normal_quantile(0.0).is_infinite() && normal_quantile(1.0).is_infinite());
    }

    #[test]
    fn student_values_equal_scipy() {
        // scipy.stats.t.ppf(1 - (1 - level) / 2, degrees)
        for (level, degrees, expected) in [
            (0.95, 1, 12.706_204_736_432_095),
            (0.95, 2, 4.302_652_729_911_275),
            (0.95, 3, 3.182_446_305_284_263_6),
            (0.95, 4, 2.776_445_105_197_793),
            (0.90, 5, 2.015_048_373_333_024),
            (0.95, 30, 2.042_272_456_301_237_3),
        ] {
            let found = student_quantile(level, degrees);
            assert!((found - expected).abs() < 1e-8, "{level} {degrees}: {found}");
        }
    }
}
