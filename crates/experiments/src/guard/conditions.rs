//! What a check-up saw of others, beside what the baseline saw: SMT siblings, neighbours on the host, programs beside it.
//!
//! A busy machine measures slower and has not changed. So a check-up that was busier than the baseline is not judged by its
//! numbers, and one that was a little busier names that where no fact differs.

use record::HistoryEntry;
use stats::median;
use stats::text::points_of_share;

/// A share of a check-up's time, or of its windows.
struct Condition {
    of: fn(&HistoryEntry) -> Option<f64>,
    /// Said before and after the share in percent.
    words: [&'static str; 2],
    /// A check-up with so much more than the baseline's median is not judged: what makes one check-up doubtful, in
    /// `probes::check_up`.
    doubtful: f64,
}

const CONDITIONS: [Condition; 3] = [
    Condition { of: |run| run.others_share, words: ["other processes used", "of all CPUs"], doubtful: 0.15 },
    Condition {
        of: |run| run.steal_share,
        words: ["the hypervisor gave", "of the CPU time to others"],
        doubtful: 0.02,
    },
    Condition { of: |run| run.dropped_share, words: ["pre-emption cost", "of the windows"], doubtful: 0.20 },
];
/// Shares beyond the baseline's largest by less than this are not worth a word.
const WORTH_A_WORD: f64 = 0.01;

impl Condition {
    fn of_baseline(&self, runs: &[HistoryEntry]) -> Vec<f64> {
        runs.iter().filter_map(self.of).collect()
    }

    fn told(&self, share: f64, baseline: f64, which: &str) -> String {
        let [before, after] = self.words;
        format!(
            "{before} {} % {after} ({which} {} % in the baseline)",
            points_of_share(share),
            points_of_share(baseline)
        )
    }
}

/// What makes a check-up busier than the whole baseline was, so that its numbers are not judged.
pub(super) fn busier(runs: &[HistoryEntry], check: &HistoryEntry) -> Option<String> {
    CONDITIONS.iter().find_map(|condition| {
        let (share, usual) = ((condition.of)(check)?, median(&condition.of_baseline(runs))?);
        (share > usual + condition.doubtful).then(|| condition.told(share, usual, "usually"))
    })
}

/// What of a check-up is beyond every run of the baseline, most first.
pub(super) fn remarkable(runs: &[HistoryEntry], check: &HistoryEntry) -> Option<String> {
    let beyond = |condition: &'static Condition| {
        let share = (condition.of)(check)?;
        let most = condition.of_baseline(runs).into_iter().reduce(f64::max)?;
        (share > most + WORTH_A_WORD)
            .then(|| ((share - most) / condition.doubtful, condition.told(share, most, "at most")))
    };
    let found = CONDITIONS.iter().filter_map(beyond);
    found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, told)| told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(others: f64, steal: f64) -> HistoryEntry {
        HistoryEntry { others_share: Some(others), steal_share: Some(steal), ..HistoryEntry::default() }
    }

    #[test]
    fn busier_is_meant_beside_the_baseline_and_not_beside_an_idle_machine() {
        let quiet: Vec<HistoryEntry> = (0..20).map(|index| run(0.001 * f64::from(index), 0.0)).collect();
        let busy: Vec<HistoryEntry> = (0..20).map(|index| run(0.3 + 0.01 * f64::from(index), 0.01)).collect();
        let expected = "other processes used 52 % of all CPUs (usually 1.0 % in the baseline)";
        assert_eq!(busier(&quiet, &run(0.52, 0.0)).as_deref(), Some(expected));
        assert_eq!(busier(&busy, &run(0.52, 0.0)), None);
        assert!(busier(&busy, &run(0.8, 0.0)).is_some_and(|told| told.contains("80 % of all CPUs")));
        let expected = "the hypervisor gave 4.0 % of the CPU time to others (usually 0.0 % in the baseline)";
        assert_eq!(busier(&quiet, &run(0.0, 0.04)).as_deref(), Some(expected));
        assert_eq!(busier(&[HistoryEntry::default()], &run(0.9, 0.9)), None, "what is unknown is no reason");
    }

    #[test]
    fn what_is_beyond_every_run_is_named_and_small_shares_are_not() {
        let quiet: Vec<HistoryEntry> = (0..20).map(|index| run(0.001 * f64::from(index), 0.0)).collect();
        assert_eq!(remarkable(&quiet, &run(0.02, 0.005)), None);
        let found = remarkable(&quiet, &run(0.08, 0.015)).expect("both are beyond");
        assert!(found.starts_with("the hypervisor gave 1.5 %"), "{found}");
    }
}
