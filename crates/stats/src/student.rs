//! Quantiles of the normal and of Student's distribution.

/// Bisection halves the bracket this often: far below any rounding that is shown.
const HALVINGS: usize = 60;

/// No tail needs a t beyond this: at one degree of freedom it leaves a tail of 3e-7.
const LARGEST_T: f64 = 1.0e6;

/// Probability that a standard normal number is below `z`.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * complementary_error(-z / std::f64::consts::SQRT_2)
}

/// The z below which a standard normal number falls with probability `p`; infinite at 0 and 1.
///
/// Acklam's rational approximation (2003), refined by one step of Halley: relative error below 1e-6 even far out.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() || p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let rough = rough_normal_quantile(p);
    let error = normal_cdf(rough) - p;
    let step = error * (2.0 * std::f64::consts::PI).sqrt() * (rough * rough / 2.0).exp();
    rough - step / (1.0 + rough * step / 2.0)
}

/// Coefficients from P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function".
fn rough_normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [0.007_784_695_709_041_462, 0.322_467_129_070_039_8, 2.445_134_137_142_996, 3.754_408_661_907_416];
    /// Beyond this probability the tail formula takes over.
    const TAIL: f64 = 0.024_25;
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let x = (-2.0 * p.ln()).sqrt();
        polynomial(&C, x) / (polynomial(&D, x) * x + 1.0)
    };
    if p < TAIL {
        tail(p)
    } else if p > 1.0 - TAIL {
        -tail(1.0 - p)
    } else {
        let x = p - 0.5;
        let square = x * x;
        polynomial(&A, square) * x / (polynomial(&B, square) * square + 1.0)
    }
}

/// erfc by the Chebyshev fit of Numerical Recipes (erfcc): relative error below 1.2e-7 everywhere.
fn complementary_error(x: f64) -> f64 {
    const FIT: [f64; 10] = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let tail = t * (-x * x + FIT.iter().fold(0.0, |sum, c| sum * t + c)).exp();
    if x >= 0.0 { tail } else { 2.0 - tail }
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
