//! What an experiment takes at least before it can say anything, from what its first runs took.

use stats::{FEWEST_PAIRS, cell_count};

use super::subject::PASSES_PER_BLOCK;

/// A budget that is asked for is larger than the least by this: later runs may take longer than the first.
const HEADROOM: f64 = 1.1;

/// Fewer pairs than this have no interval: each block holds two.
pub const PAIRS_MIN: usize = FEWEST_PAIRS * PASSES_PER_BLOCK;

/// What an experiment is about to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeEstimate {
    /// Seconds that a run takes, with all that is done around it: the mean of what each state took first.
    pub run_s: f64,
    /// Runs of the experiment proper without which there is no interval.
    pub runs_min: usize,
    /// Share of the time that is left which the same runs with nothing switched may take before.
    pub aa_share: f64,
    /// Seconds that are spent already.
    pub spent_s: f64,
    /// Seconds that there are for all of it.
    pub budget_s: f64,
}

impl TimeEstimate {
    /// Of an experiment with so many toggles, after its first runs.
    pub(super) fn of(factors: usize, run_s: f64, aa_share: f64, spent_s: f64, budget_s: f64) -> Self {
        let runs_min = FEWEST_PAIRS * PASSES_PER_BLOCK * cell_count(factors);
        Self { run_s, runs_min, aa_share, spent_s, budget_s }
    }

    /// Seconds for the fewest runs that have an interval, all that comes before included.
    pub fn least_s(&self) -> f64 {
        self.spent_s + self.run_s * self.runs_min as f64 / (1.0 - self.aa_share)
    }

    /// Whether the budget can bring an interval.
    pub fn is_affordable(&self) -> bool {
        self.least_s() <= self.budget_s
    }

    /// Whole seconds of a budget that can.
    pub fn budget_needed_s(&self) -> f64 {
        (self.least_s() * HEADROOM).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_counts_the_runs_with_nothing_switched_and_what_is_spent() {
        let time_estimate = TimeEstimate::of(1, 1.3, 1.0 / 3.0, 2.6, 20.0);
        assert_eq!(time_estimate.runs_min, 24);
        assert!((time_estimate.least_s() - (2.6 + 36.0 * 1.3)).abs() < 1e-9, "{}", time_estimate.least_s());
        assert!(!time_estimate.is_affordable());
        let asked = TimeEstimate { budget_s: time_estimate.budget_needed_s(), ..time_estimate };
        assert!(asked.is_affordable() && (asked.budget_s - 55.0).abs() < 1e-9, "{}", asked.budget_s);
        assert_eq!(TimeEstimate::of(2, 1.0, 0.0, 0.0, 0.0).runs_min, 48);
    }
}
