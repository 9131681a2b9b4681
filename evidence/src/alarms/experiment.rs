//! One experiment with equal arms, resampled from a series: run before/after, or interleaved as sidestep does it.

use stats::{Arm, Random, random_pairs, random_quads, student_two_sided};

/// Samples of a trial, of which the fastest counts: disturbance only adds time.
pub(super) const SAMPLES_PER_TRIAL: usize = 5;
/// Trials of a quad, ABBA or BAAB.
pub(super) const TRIALS_PER_QUAD: usize = 4;

/// Where trials come from.
pub(super) trait Source {
    /// What it is called in the tables.
    fn name(&self) -> &str;
    /// Logarithms of `count` trials that follow each other in time, of one and the same arm.
    fn trials(&self, count: usize, random: &mut Random) -> Vec<f64>;
}

/// Logarithm of the fastest of each trial's samples.
pub(super) fn fastest(samples: &[f64]) -> Vec<f64> {
    let trials = samples.chunks_exact(SAMPLES_PER_TRIAL);
    trials.map(|trial| trial.iter().copied().fold(f64::INFINITY, f64::min).ln()).collect()
}

/// Log ratio B over A of each pair, each AB or BA at random.
pub(super) fn by_pairs(trials: &[f64], random: &mut Random) -> Vec<f64> {
    log_ratios(trials, &random_pairs(trials.len() / 2, random))
}

/// Log ratio B over A of each pair, each quad ABBA or BAAB at random.
pub(super) fn by_quads(trials: &[f64], random: &mut Random) -> Vec<f64> {
    log_ratios(trials, &random_quads(trials.len() / TRIALS_PER_QUAD, random))
}

fn log_ratios(trials: &[f64], arms: &[Arm]) -> Vec<f64> {
    let pairs = trials.chunks_exact(2).zip(arms.chunks_exact(2));
    pairs.map(|(pair, arms)| if arms[0] == Arm::A { pair[1] - pair[0] } else { pair[0] - pair[1] }).collect()
}

/// What the design of the benchmark articles finds: one arm first, the other after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct BeforeAfter {
    /// Difference of the mean logarithms.
    pub(super) difference: f64,
    /// Two-sided p of Welch's test.
    pub(super) p: f64,
}

/// The first half of the trials against the second.
pub(super) fn before_after(trials: &[f64]) -> BeforeAfter {
    let (before, after) = trials.split_at(trials.len() / 2);
    let [first, second] = [before, after].map(|part| {
        let count = part.len() as f64;
        let mean = part.iter().sum::<f64>() / count;
        let variance = part.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count, count)
    });
    let difference = second.0 - first.0;
    let squared_error = first.1 + second.1;
    // Welch and Satterthwaite's degrees of freedom, rounded down.
    let terms = [first, second].map(|(_, squared, count)| squared * squared / (count - 1.0));
    let degrees = (squared_error * squared_error / (terms[0] + terms[1])).max(1.0) as u32;
    BeforeAfter { difference, p: student_two_sided(difference / squared_error.sqrt(), degrees) }
}

#[cfg(test)]
mod tests {
    use stats::quad_means;

    use super::*;

    #[test]
    fn welch_equals_scipy() {
        // r = scipy.stats.ttest_ind(a, b, equal_var=False) of the two halves has 5.7 degrees of freedom;
        // 2 * scipy.stats.t.sf(abs(r.statistic), 5)
        let found = before_after(&[10.1, 10.4, 9.8, 10.0, 10.2, 10.3, 11.3, 10.7, 10.5, 10.05]);
        assert!((found.difference - 0.47).abs() < 1e-9, "{found:?}");
        assert!((found.p - 0.101_172_990_528_669_32).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_fastest_of_five_stands_for_a_trial() {
        let samples = [5.0, 4.0, 1.0, 3.0, 2.0, 8.0, 7.0, 9.0, 2.0, 8.0, 1.0];
        let found = fastest(&samples);
        assert_eq!(found.len(), 2);
        assert!(found[0].abs() < 1e-12 && (found[1] - 2.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_straight_drift_cancels_within_each_quad() {
        let trials: Vec<f64> = (0..80).map(f64::from).collect();
        let logs = by_quads(&trials, &mut Random::new(1));
        assert_eq!(logs.len(), 40);
        assert!(quad_means(&logs).iter().all(|mean| mean.abs() < 1e-12));
        let logs = by_pairs(&trials, &mut Random::new(1));
        assert!(
            logs.iter().all(|log| (log.abs() - 1.0).abs() < 1e-12)
                && quad_means(&logs).iter().any(|mean| *mean > 0.5)
        );
    }
}
