//! Guards: pairs during which something else was seen to move are left out, both trials at once; in a factorial design
//! passes, each cell of it.

use crate::median;
use crate::quantile::median_absolute_deviation;

/// A trial is out if a guard is further than this many median absolute deviations from its median.
const REACH_IN_DEVIATIONS: f64 = 5.0;

/// Something watched beside the trials: the drift probe, steal, frequency, throttling, interrupts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard<'a> {
    /// What it is called where its drops are shown.
    pub name: &'a str,
    /// One value per trial in the order taken; NaN where there was none, which is no reason to drop.
    pub by_trial: &'a [f64],
    /// Distances from the median up to this are never a reason: the resolution of a counter, or what does not matter.
    pub tolerance: f64,
}

impl Guard<'_> {
    /// One per trial: true if it moved, which takes the trial's pair with it.
    pub fn moved(&self) -> Vec<bool> {
        let centre = median(self.by_trial).unwrap_or(0.0);
        let deviation = median_absolute_deviation(self.by_trial).unwrap_or(0.0);
        let reach = (REACH_IN_DEVIATIONS * deviation).max(self.tolerance);
        self.by_trial.iter().map(|value| (value - centre).abs() > reach).collect()
    }
}

/// Which pairs stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guarded {
    /// One per pair: true if it stays.
    pub keep: Vec<bool>,
    /// Pairs left out by each guard, in the order given; a pair may stand at several.
    pub dropped_by: Vec<usize>,
    /// Of each guard that moved in some states more often than chance explains the trials by state: it drops nothing then, as what comes
    /// with a state is part of what the state does. Empty where states were not asked about.
    pub lopsided: Vec<Option<Vec<usize>>>,
}

impl Guarded {
    /// Pairs left out.
    pub fn dropped(&self) -> usize {
        self.keep.iter().filter(|keep| !**keep).count()
    }

    /// The same values, one per pair, with NaN for pairs left out, so that each pair keeps its place in its quad.
    pub fn masked(&self, by_pair: &[f64]) -> Vec<f64> {
        by_pair.iter().zip(&self.keep).map(|(value, keep)| if *keep { *value } else { f64::NAN }).collect()
    }
}

/// Decides on passes of `trials` trials each; read pass for pair in what it gives. Looks at the guards only, never at the trials.
pub fn guarded_passes(guards: &[Guard<'_>], passes: usize, trials: usize) -> Guarded {
    let mut result = Guarded { keep: vec![true; passes], dropped_by: Vec::new(), lopsided: Vec::new() };
    for guard in guards {
        let mut dropped = 0;
        for (pass, keep) in guard.moved().chunks(trials.max(1)).zip(&mut result.keep) {
            if pass.contains(&true) {
                *keep = false;
                dropped += 1;
            }
        }
        result.dropped_by.push(dropped);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_a_guard_saw_move_takes_its_partner_along() {
        let probe = [1.0, 1.01, 0.99, 1.02, 1.0, 3.0, 0.98, 1.0];
        let steal = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0];
        let guards = [
            Guard { name: "drift probe", by_trial: &probe, tolerance: 0.0 },
            Guard { name: "steal", by_trial: &steal, tolerance: 1.0 },
        ];
        let found = guarded_passes(&guards, 4, 2);
        assert_eq!(found.keep, [true, true, false, false]);
        assert_eq!((found.dropped_by.as_slice(), found.dropped()), ([1, 1].as_slice(), 2));
        let masked = found.masked(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(masked.iter().map(|value| value.is_nan()).collect::<Vec<_>>(), [false, false, true, true]);
        assert_eq!(guarded_passes(&guards, 2, 4).keep, [true, false]);
    }

    #[test]
    fn quiet_missing_and_absent_guards_drop_nothing() {
        let (still, missing) = ([7.0; 8], [f64::NAN; 8]);
        let guards = [
            Guard { name: "still", by_trial: &still, tolerance: 0.0 },
            Guard { name: "missing", by_trial: &missing, tolerance: 0.0 },
            Guard { name: "short", by_trial: &[], tolerance: 0.0 },
        ];
        assert_eq!(guarded_passes(&guards, 4, 2).dropped(), 0);
        assert_eq!(guarded_passes(&[], 3, 2).keep, [true; 3]);
    }

    #[test]
    fn normal_noise_alone_drops_few_pairs() {
        // 5 median absolute deviations are 3.4 standard deviations: 7 in 10,000 trials of normal noise.
        let mut random = crate::Random::new(4);
        let noise: Vec<f64> = (0..2000).map(|_| random.normal()).collect();
        let found = guarded_passes(&[Guard { name: "noise", by_trial: &noise, tolerance: 0.0 }], 1000, 2);
        assert!(found.dropped() <= 6, "{}", found.dropped());
    }
}
