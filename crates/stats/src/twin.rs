//! The A/A twin of an experiment: the same run with nothing changed, and how much it takes back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::LEVEL_OF_ALARMS;
use crate::{binomial_quantile, normal_quantile, quantile};

/// More alarms than this quantile of chance mean that the experiment cannot be trusted.
const CONTAMINATED_BEYOND: f64 = 0.99;

/// The quantile of |z| that is held against the normal distribution, and its value there.
const HIGH_QUANTILE: f64 = 0.95;
const HIGH_QUANTILE_NORMAL: f64 = 1.959_963_984_540_054;

/// What an experiment with nothing changed showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Twin {
    /// Rows compared.
    pub rows: usize,
    /// Rows that differed at 5 %, uncorrected: false alarms all.
    pub alarms: usize,
    /// The most alarms that chance explains: the 99th percentile of their number.
    pub alarms_by_chance: usize,
    /// Factor by which the intervals of the experiment proper are too narrow, at least 1.
    pub widening: f64,
}

impl Twin {
    /// From the two-sided p of each row.
    pub fn of(p_values: &[f64]) -> Self {
        let known: Vec<f64> = p_values.iter().copied().filter(|p| (0.0..=1.0).contains(p)).collect();
        let z: Vec<f64> = known.iter().map(|p| -normal_quantile(p / 2.0)).collect();
        let observed = quantile(&z, HIGH_QUANTILE).unwrap_or(0.0);
        Self {
            rows: known.len(),
            alarms: known.iter().filter(|p| **p <= LEVEL_OF_ALARMS).count(),
            alarms_by_chance: binomial_quantile(CONTAMINATED_BEYOND, known.len(), LEVEL_OF_ALARMS),
            widening: (observed / HIGH_QUANTILE_NORMAL).max(1.0),
        }
    }

    /// True if it raised more alarms than chance explains: the whole report then carries a banner.
    pub fn is_contaminated(&self) -> bool {
        self.alarms > self.alarms_by_chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn uniform_p_values_are_what_chance_explains() {
        let mut random = Random::new(5);
        let contaminated = (0..200)
            .filter(|_| Twin::of(&(0..40).map(|_| random.unit()).collect::<Vec<f64>>()).is_contaminated())
            .count();
        assert!(contaminated <= 6, "{contaminated} of 200");
    }

    #[test]
    fn alarms_beyond_chance_contaminate_and_widen() {
        let mut p_values = vec![0.5; 20];
        p_values[..4].fill(0.001);
        let twin = Twin::of(&p_values);
        assert_eq!((twin.alarms, twin.alarms_by_chance, twin.is_contaminated()), (4, 4, false));
        // scipy.stats.norm.isf(0.0005) / 1.959964 = 1.679
        assert!((twin.widening - 1.679).abs() < 0.001, "{}", twin.widening);
        p_values[4] = 0.01;
        assert!(Twin::of(&p_values).is_contaminated());
    }

    #[test]
    fn a_quiet_twin_and_none_change_nothing() {
        for p_values in [vec![0.9; 12], vec![], vec![f64::NAN]] {
            let twin = Twin::of(&p_values);
            assert!((twin.widening - 1.0).abs() < 1e-12 && !twin.is_contaminated(), "{twin:?}");
        }
    }
}
