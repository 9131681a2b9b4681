//! At which numbers of threads placement matters: the same experiment for each, judged alike.

use record::{PLACE_SCHEMA, PlaceOutcome, PlaceSweep, PlaceSweepRow};
use stats::Verdict;

use super::arms::{OS, OS_AGAIN};
use super::outcome::RECOMMENDED_Q;

/// Whether placement matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sensitivity {
    /// A placement is better or worse than the kernel's, beyond the margin.
    Sensitive,
    /// All that was tried is equivalent, or there is nothing to place.
    Insensitive,
    /// The runs do not tell.
    Unknown,
}

/// Whether the placement of this program matters.
pub fn sensitivity(found: &PlaceOutcome) -> Sensitivity {
    let mut tried = found.arms.iter().filter(|arm| arm.name != OS && arm.name != OS_AGAIN).peekable();
    if found.aa.contaminated {
        return Sensitivity::Unknown;
    }
    if tried.peek().is_none() {
        return if found.ended.is_none() { Sensitivity::Insensitive } else { Sensitivity::Unknown };
    }
    let verdicts: Vec<(Verdict, f64)> = tried.map(|arm| (arm.verdict, arm.q.unwrap_or(1.0))).collect();
    let differs = |(verdict, q): &(Verdict, f64)| {
        matches!(verdict, Verdict::Faster | Verdict::Slower) && *q <= RECOMMENDED_Q
    };
    if verdicts.iter().any(differs) {
        Sensitivity::Sensitive
    } else if verdicts.iter().all(|(verdict, _)| *verdict == Verdict::Equivalent) {
        Sensitivity::Insensitive
    } else {
        Sensitivity::Unknown
    }
}

/// The answer over all numbers of threads.
pub fn sweep(rows: Vec<PlaceSweepRow>) -> PlaceSweep {
    let of = |wanted: Sensitivity| -> Vec<usize> {
        rows.iter().filter(|row| sensitivity(&row.outcome) == wanted).map(|row| row.threads).collect()
    };
    let (sensitive, insensitive, unknown) =
        (of(Sensitivity::Sensitive), of(Sensitivity::Insensitive), of(Sensitivity::Unknown));
    let numbers = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let clauses = [
        ("placement matters with", &sensitive),
        ("placement does not matter with", &insensitive),
        ("the runs do not tell with", &unknown),
    ];
    let clause = |(words, of): (&str, &Vec<usize>)| {
        let noun = if of[..] == [1] { "thread" } else { "threads" };
        format!("{words} {} {noun}", numbers(of))
    };
    let sentence: Vec<String> = clauses.into_iter().filter(|(_, of)| !of.is_empty()).map(clause).collect();
    PlaceSweep { schema: PLACE_SCHEMA, sentence: sentence.join("; "), sensitive, insensitive, unknown, rows }
}

#[cfg(test)]
mod tests {
    use record::PlaceArm;

    use super::super::arms::Arms;
    use super::super::outcome::{Setting, nothing_tried};
    use super::*;

    fn outcome(verdicts: &[(&str, Verdict, f64)]) -> PlaceOutcome {
        let arms =
            Arms { plans: Vec::new(), decision: None, predicted_by: Err(String::new()), judged_by_s: None };
        let mut found = nothing_tried(&Setting::default(), &arms, "");
        let arm = |(name, verdict, q): &(&str, Verdict, f64)| PlaceArm {
            q: Some(*q),
            verdict: *verdict,
            ..PlaceArm::untried(name, "")
        };
        found.arms = verdicts.iter().map(arm).collect();
        found.ended = (!verdicts.is_empty()).then_some(record::Ended::BudgetSpent);
        found
    }

    #[test]
    fn a_number_of_threads_is_sensitive_insensitive_or_unknown() {
        use Verdict::{Equivalent, Faster, Inconclusive, Slower};
        let rows = [
            (1, outcome(&[])),
            (2, outcome(&[("spread", Slower, 0.001), ("pack", Inconclusive, 0.5)])),
            (3, outcome(&[("spread", Equivalent, 0.5), ("os again", Inconclusive, 0.5)])),
            (4, outcome(&[("spread", Faster, 0.04)])),
        ];
        let found =
            sweep(rows.into_iter().map(|(threads, outcome)| PlaceSweepRow { threads, outcome }).collect());
        assert_eq!((found.sensitive, found.insensitive, found.unknown), (vec![2], vec![1, 3], vec![4]));
        assert_eq!(
            found.sentence,
            "placement matters with 2 threads; placement does not matter with 1, 3 threads; the runs do not tell with 4 threads"
        );
        let one = sweep(vec![PlaceSweepRow { threads: 1, outcome: outcome(&[]) }]);
        assert_eq!(one.sentence, "placement does not matter with 1 thread");
    }
}
