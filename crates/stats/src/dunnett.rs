//! Many treatments against one control: how large the largest of their t values is by chance.
//!
//! Source: Dunnett, "A multiple comparison procedure for comparing several treatments with a control", JASA 50 (1955). The t values
//! share the control and the residual variance; with one correlation between all of them their joint distribution is an integral over
//! two normal-like numbers, which is done here by sums.

/// Steps of each integral; with 64 the probability is right to 1e-6, which no one shows.
const STEPS: usize = 64;
/// The normal part is taken this far to either side: beyond lies 1e-15 of it.
const LARGEST_Z: f64 = 8.0;
/// The residual deviation is taken so many of its own standard deviations to either side.
const DEVIATIONS: f64 = 8.0;
/// Halvings of the bracket of a critical value.
const HALVINGS: usize = 50;
/// No critical value that is asked for is beyond this.
const LARGEST_T: f64 = 1000.0;
/// A correlation nearer to one leaves nothing to integrate over.
const CORRELATION_MAX: f64 = 0.999_9;

/// So many treatments, their correlation with each other through the control, and the degrees of freedom of the residual variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dunnett {
    /// Treatments, at least one.
    pub treatments: usize,
    /// 0 to 1: the share of a difference's variance that the control brings; one half for equal numbers of runs.
    pub correlation: f64,
    /// Degrees of freedom of the residual variance, at least 1.
    pub degrees: u32,
}

impl Dunnett {
    /// Chance that the largest of all |t| exceeds `t` where no treatment does anything: the p value adjusted for all of them.
    pub fn exceeds(self, t: f64) -> f64 {
        let t = t.abs();
        let degrees = f64::from(self.degrees.max(1));
        // The residual deviation over the true one is a chi over the root of its degrees; its spread is about this.
        let spread = (2.0 * degrees).sqrt().recip();
        let (low, high) = ((1.0 - DEVIATIONS * spread).max(1e-6), 1.0 + DEVIATIONS * spread);
        // The exponent is zero at the top of the density, so that it neither over- nor underflows.
        let density = |deviation: f64| {
            ((degrees - 1.0) * deviation.ln() - degrees * (deviation * deviation - 1.0) / 2.0).exp()
        };
        let (mut inside, mut all) = (0.0, 0.0);
        for deviation in steps(low, high) {
            let weight = density(deviation);
            all += weight;
            inside += weight * self.none_beyond(t * deviation);
        }
        (1.0 - inside / all).clamp(0.0, 1.0)
    }

    /// Chance that no treatment is beyond `bound` true standard errors.
    fn none_beyond(self, bound: f64) -> f64 {
        let correlation = self.correlation.clamp(0.0, CORRELATION_MAX);
        let (shared, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
        let (mut inside, mut all) = (0.0, 0.0);
        for z in steps(-LARGEST_Z, LARGEST_Z) {
            let weight = (-z * z / 2.0).exp();
            let one = crate::normal_cdf((bound - shared * z) / own)
                - crate::normal_cdf((-bound - shared * z) / own);
            all += weight;
            inside += weight * one.powi(i32::try_from(self.treatments.max(1)).unwrap_or(i32::MAX));
        }
        inside / all
    }

    /// Whether so many standard errors are at least the critical value: cheaper than [`Dunnett::quantile`].
    pub fn is_beyond(self, t: f64, level: f64) -> bool {
        // No family is less strict than one normal number alone.
        t >= crate::normal_quantile(f64::midpoint(1.0, level)) && self.exceeds(t) <= 1.0 - level
    }

    /// The t that the largest |t| exceeds with chance `1 - level`.
    pub fn quantile(self, level: f64) -> f64 {
        let (mut low, mut high) = (0.0, 2.0);
        while self.exceeds(high) > 1.0 - level && high < LARGEST_T {
            high *= 2.0;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.exceeds(middle) > 1.0 - level { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }
}

fn steps(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..STEPS).map(move |step| low + (high - low) * (step as f64 + 0.5) / STEPS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn one_treatment_is_students_test() {
        for degrees in [3, 10, 60] {
            let one = Dunnett { treatments: 1, correlation: 0.5, degrees };
            let student = crate::student_quantile(0.95, degrees);
            assert!((one.quantile(0.95) / student - 1.0).abs() < 2e-3, "{degrees}: {}", one.quantile(0.95));
        }
    }

    #[test]
    fn critical_values_equal_drawn_ones() {
        // 95 % quantiles of the largest |t| in millions of draws of the joint distribution, good to 0.002.
        for (treatments, degrees, expected) in
            [(2, 10, 2.567), (3, 20, 2.540), (5, 20, 2.736), (9, 60, 2.770)]
        {
            let found = Dunnett { treatments, correlation: 0.5, degrees }.quantile(0.95);
            assert!((found - expected).abs() < 0.006, "{treatments} {degrees}: {found}");
        }
    }

    #[test]
    fn simulated_experiments_exceed_the_critical_value_as_often_as_asked() {
        const EXPERIMENTS: usize = 4000;
        let (treatments, runs, control_runs) = (6, 4, 8);
        let degrees = (treatments * (runs - 1) + control_runs - 1) as u32;
        let share = 1.0 / control_runs as f64 / (1.0 / control_runs as f64 + 1.0 / runs as f64);
        let critical = Dunnett { treatments, correlation: share, degrees }.quantile(0.95);
        let mut random = Random::new(7);
        let mut beyond = 0;
        for _ in 0..EXPERIMENTS {
            let mut sample = |runs: usize| (0..runs).map(|_| random.normal()).collect::<Vec<f64>>();
            let control = sample(control_runs);
            let arms: Vec<Vec<f64>> = (0..treatments).map(|_| sample(runs)).collect();
            let squares = |values: &Vec<f64>| crate::sample_variance(values) * (values.len() as f64 - 1.0);
            let variance = (squares(&control) + arms.iter().map(squares).sum::<f64>()) / f64::from(degrees);
            let error = (variance * (1.0 / runs as f64 + 1.0 / control_runs as f64)).sqrt();
            let t = |arm: &Vec<f64>| ((crate::mean(arm) - crate::mean(&control)) / error).abs();
            beyond += usize::from(arms.iter().map(t).fold(0.0, f64::max) > critical);
        }
        let share = beyond as f64 / EXPERIMENTS as f64;
        assert!((0.04..0.06).contains(&share), "{share}");
    }
}
