//! At which numbers of threads placement matters: the same experiment for each, judged together.
//!
//! Each number of threads is another chance to be wrong, so that what is said of all of them holds with a family-wise error: if placement
//! matters nowhere, one answer of twenty names a number all the same.

use record::{PLACE_SCHEMA, PlaceArm, PlaceOutcome, PlaceSweep, PlaceSweepArm, PlaceSweepRow};
use stats::{LEVEL_OF_ALARMS, Verdict, holm};

use super::arms::{OS_AGAIN, is_tried};
use super::outcome::RECOMMENDED_Q;

/// Whether placement matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sensitivity {
    /// A placement is better than the kernel's, beyond the margin.
    Better,
    /// Some are worse, and none is better.
    OnlyWorse,
    /// All that was tried is equivalent, or there is nothing to place.
    Insensitive,
    /// The runs do not tell.
    Unknown,
    /// Nothing was tried, as runs or threads were over too soon to be seen.
    Unseen,
}

/// Whether the placement of this program matters with one number of threads.
fn sensitivity(row: &PlaceSweepRow) -> Sensitivity {
    let found = &row.outcome;
    // The kernel against itself.
    let is_alarm = |arm: &PlaceArm| {
        arm.name == OS_AGAIN
            && arm.verdict != Verdict::Equivalent
            && arm.q.is_some_and(|q| q <= RECOMMENDED_Q)
    };
    if found.aa.contaminated || found.arms.iter().any(is_alarm) {
        return Sensitivity::Unknown;
    }
    let tried = found.arms.iter().zip(&row.arms).filter(|(arm, _)| is_tried(arm));
    let verdicts: Vec<Verdict> = tried.map(|(_, judged)| judged.verdict).collect();
    if verdicts.is_empty() {
        return match (&found.unseen, found.ended) {
            (Some(_), _) => Sensitivity::Unseen,
            (None, None) => Sensitivity::Insensitive,
            (None, Some(_)) => Sensitivity::Unknown,
        };
    }
    if verdicts.contains(&Verdict::Faster) {
        Sensitivity::Better
    } else if verdicts.contains(&Verdict::Slower) {
        Sensitivity::OnlyWorse
    } else if verdicts.iter().all(|verdict| *verdict == Verdict::Equivalent) {
        Sensitivity::Insensitive
    } else {
        Sensitivity::Unknown
    }
}

/// Judges the arms of all numbers of threads together.
fn judged(found: Vec<(usize, PlaceOutcome)>) -> Vec<PlaceSweepRow> {
    let own_p = |arm: &PlaceArm| arm.p.filter(|_| is_tried(arm));
    let p: Vec<f64> = found.iter().flat_map(|(_, outcome)| &outcome.arms).filter_map(own_p).collect();
    let mut q = holm(&p).into_iter();
    let mut judge = |arm: &PlaceArm| {
        let q = own_p(arm).and_then(|_| q.next());
        let is_sure = q.is_some_and(|q| q <= LEVEL_OF_ALARMS);
        let verdict = match arm.verdict {
            Verdict::Faster | Verdict::Slower if !is_sure => Verdict::Inconclusive,
            verdict => verdict,
        };
        PlaceSweepArm { q, verdict }
    };
    found
        .into_iter()
        .map(|(threads, outcome)| {
            let arms = outcome.arms.iter().map(&mut judge).collect();
            PlaceSweepRow { threads, outcome, arms }
        })
        .collect()
}

/// The answer over all numbers of threads, each with what was found.
pub fn sweep(found: Vec<(usize, PlaceOutcome)>) -> PlaceSweep {
    let rows = judged(found);
    let of = |wanted: Sensitivity| -> Vec<usize> {
        rows.iter().filter(|row| sensitivity(row) == wanted).map(|row| row.threads).collect()
    };
    let [better, only_worse, insensitive] =
        [Sensitivity::Better, Sensitivity::OnlyWorse, Sensitivity::Insensitive].map(of);
    let [untold, unseen] = [Sensitivity::Unknown, Sensitivity::Unseen].map(of);
    let clause = |words: &str, of: &[usize], advice: &str| {
        let noun = if of == [1] { "thread" } else { "threads" };
        let numbers = of.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        (!of.is_empty()).then(|| format!("{words} with {numbers} {noun}{advice}"))
    };
    let sentence: Vec<String> = [
        clause("a placement gains", &better, ""),
        clause("placement is only seen to hurt", &only_worse, ", leave that to the kernel"),
        clause("placement does not matter", &insensitive, ""),
        clause("the runs do not tell", &untold, ""),
        clause("runs or threads are over too soon to be judged", &unseen, ""),
    ]
    .into_iter()
    .flatten()
    .collect();
    let in_order = |one: &[usize], other: &[usize]| {
        let mut both = [one, other].concat();
        both.sort_unstable();
        both
    };
    PlaceSweep {
        schema: PLACE_SCHEMA,
        sentence: sentence.join("; "),
        sensitive: in_order(&better, &only_worse),
        only_worse,
        insensitive,
        unknown: in_order(&untold, &unseen),
        unseen,
        rows,
    }
}

#[cfg(test)]
mod tests {
    use stats::Random;

    use super::super::arms::{Arms, OS};
    use super::super::outcome::{Setting, nothing_tried};
    use super::*;

    fn outcome(verdicts: &[(&str, Verdict, f64)]) -> PlaceOutcome {
        let arms =
            Arms { plans: Vec::new(), decision: None, predicted_by: Err(String::new()), judged_by_s: None };
        let mut found = nothing_tried(&Setting::default(), &arms, "");
        let p: Vec<f64> = verdicts.iter().map(|(.., p)| *p).collect();
        let arm = |((name, verdict, p), q): (&(&str, Verdict, f64), f64)| PlaceArm {
            p: Some(*p),
            q: Some(q),
            verdict: *verdict,
            ..PlaceArm::untried(name, "")
        };
        found.arms.push(PlaceArm::untried(OS, ""));
        found.arms.extend(verdicts.iter().zip(holm(&p)).map(arm));
        found.ended = (!verdicts.is_empty()).then_some(record::Ended::BudgetSpent);
        found
    }

    #[test]
    fn each_number_of_threads_gains_only_hurts_does_not_matter_or_is_unknown() {
        use Verdict::{Equivalent, Faster, Inconclusive, Slower};
        let found = sweep(vec![
            (1, outcome(&[])),
            (2, outcome(&[("spread", Slower, 0.0001), ("pack", Inconclusive, 0.5)])),
            (3, outcome(&[("spread", Equivalent, 0.5), ("os again", Inconclusive, 0.5)])),
            (4, outcome(&[("spread", Faster, 0.018)])),
            (5, outcome(&[("spread", Faster, 0.0001), ("pack", Slower, 0.0001)])),
            (6, outcome(&[("spread", Faster, 0.0001), ("os again", Slower, 0.0001)])),
        ]);
        assert_eq!((found.sensitive, found.only_worse), (vec![2, 5], vec![2]));
        assert_eq!((found.insensitive, found.unknown), (vec![1, 3], vec![4, 6]));
        assert_eq!(
            found.sentence,
            "a placement gains with 5 threads; placement is only seen to hurt with 2 threads, leave that to the kernel; placement does not matter with 1, 3 threads; the runs do not tell with 4, 6 threads"
        );
        // Alone 0.018 would do; as the fifth smallest p of seven it counts three times.
        let four = &found.rows[3];
        assert_eq!((four.outcome.arms[1].verdict, four.arms[1].verdict), (Faster, Inconclusive));
        assert!(four.arms[1].q.is_some_and(|q| (q - 3.0 * 0.018).abs() < 1e-12), "{four:?}");
        assert_eq!(four.arms[0].q, None);
        assert_eq!(sweep(vec![(1, outcome(&[]))]).sentence, "placement does not matter with 1 thread");
    }

    #[test]
    fn runs_that_are_too_short_get_no_verdict() {
        let brief = || PlaceOutcome { unseen: Some("1 ms is too little".to_owned()), ..outcome(&[]) };
        let found = sweep(vec![(1, outcome(&[])), (2, brief()), (4, brief())]);
        assert_eq!(
            found.sentence,
            "placement does not matter with 1 thread; runs or threads are over too soon to be judged with 2, 4 threads"
        );
        assert_eq!((found.insensitive, found.unknown, found.unseen), (vec![1], vec![2, 4], vec![2, 4]));
    }

    #[test]
    fn programs_that_do_not_care_are_called_sensitive_once_in_twenty_sweeps() {
        let mut random = Random::new(11);
        let (mut alarms, mut alone) = (0, 0);
        for _ in 0..SWEEPS {
            let counts = (1..=8).map(|threads| {
                let arms = ["best", "spread", "pack"].map(|name| {
                    let p = random.unit();
                    let verdict = if p > 0.05 {
                        Verdict::Inconclusive
                    } else if random.bool() {
                        Verdict::Faster
                    } else {
                        Verdict::Slower
                    };
                    (name, verdict, p)
                });
                (threads, outcome(&arms))
            });
            let found = sweep(counts.collect());
            alarms += usize::from(!found.sensitive.is_empty());
            let is_sure = |arm: &PlaceArm| arm.q.is_some_and(|q| q <= LEVEL_OF_ALARMS);
            alone += usize::from(found.rows.iter().flat_map(|row| &row.outcome.arms).any(is_sure));
        }
        assert!((SWEEPS * 4 / 100..=SWEEPS * 6 / 100).contains(&alarms), "{alarms} of {SWEEPS}");
        assert!(alone > SWEEPS / 4, "judged one by one: {alone} of {SWEEPS}");
    }

    /// The standard error of a share of 5 % is 0.3 % then.
    const SWEEPS: usize = 5000;
}
