//! A check for machines: as metrics and as a suite of tests.

use experiments::history::seconds_of_utc;
use record::{GuardClass, GuardOutcome, GuardVerdict};
use report::{Family, Sample, TestCase, TestResult, TestSuite};

const VERDICTS: [(GuardVerdict, &str); 3] = [
    (GuardVerdict::AsBefore, "as_before"),
    (GuardVerdict::Changed, "changed"),
    (GuardVerdict::CannotTell, "cannot_tell"),
];

/// The metrics of a check.
pub(super) fn metrics(found: &GuardOutcome) -> String {
    let verdicts = VERDICTS.map(|(verdict, word)| {
        Sample::new([("verdict", word)], f64::from(u8::from(verdict == found.verdict)))
    });
    let of_classes = |value: &dyn Fn(&GuardClass) -> f64| -> Vec<Sample> {
        let sample = |class: &GuardClass| Sample::new([("class", &class.class)], value(class) / 100.0);
        found.classes.iter().map(sample).collect()
    };
    let change = |class: &GuardClass| {
        let of_class =
            found.changes.iter().find(|change| change.row.is_none() && change.class == class.class);
        of_class.map_or(0.0, |change| change.slower_percent)
    };
    let [facts, numbers] =
        [found.facts.len(), found.changes.len()].map(|count| Sample::new([], count as f64));
    let checked = seconds_of_utc(&found.checked_utc).map(|seconds| Sample::new([], seconds as f64));
    let is_one = "Whether the machine is as its baseline; one of them is 1.";
    let changed = "Confirmed change of the cost of a class; slower is above zero.";
    let limit = "Smallest change of a class that a check can show.";
    let families = [
        Family::gauge("verdict", is_one).of(verdicts),
        Family::gauge("facts_changed", "Facts that differ from the baseline.").of([facts]),
        Family::gauge("numbers_changed", "Numbers beyond their limits.").of([numbers]),
        Family::gauge("change_ratio", changed).of(of_classes(&change)),
        Family::gauge("limit_ratio", limit)
            .of(of_classes(&|class| class.smallest_percent.unwrap_or(f64::INFINITY))),
        Family::gauge("last_check_timestamp_seconds", "When the last check began.").of(checked),
    ];
    report::metrics("sidestep_guard_", families)
}

/// The check as a suite of tests: the facts, and each class of numbers.
pub(super) fn junit(found: &GuardOutcome) -> String {
    let facts = found.facts.iter().map(|fact| {
        let value = |index: usize| fact.values.get(index).and_then(Option::as_deref).unwrap_or("none");
        format!("{}: {} -> {}", fact.fact, value(0), value(1))
    });
    let is_withheld = found.verdict == GuardVerdict::CannotTell;
    let case = |name: &str, lines: Vec<String>, may_skip: bool| TestCase {
        class: "",
        name: name.to_owned(),
        result: if !lines.is_empty() {
            TestResult::Failed { message: found.sentence.clone(), detail: lines.join("\n") }
        } else if may_skip && is_withheld {
            TestResult::Skipped(found.sentence.clone())
        } else {
            TestResult::Passed
        },
    };
    let of_class = |class: &GuardClass| {
        let changes = found.changes.iter().filter(|change| change.class == class.class);
        let lines = changes.map(|change| {
            let what = change.row.as_ref().unwrap_or(&change.class);
            format!("{what}: cost {:+.1} %, limit {:.1} %", change.slower_percent, change.limit_percent)
        });
        case(&class.class, lines.collect(), true)
    };
    let cases = [case("facts", facts.collect(), false)].into_iter();
    let cases = cases.chain(found.classes.iter().map(of_class)).collect();
    let timestamp = found.checked_utc.trim_end_matches('Z').to_owned();
    report::junit(&TestSuite { name: "sidestep guard", timestamp, cases })
}

#[cfg(test)]
mod tests {
    use record::{FactDifference, GuardChange, GuardClass};

    use super::*;

    fn found() -> GuardOutcome {
        GuardOutcome {
            verdict: GuardVerdict::Changed,
            sentence: "changed: \"a\" <b>\u{1}".to_owned(),
            checked_utc: "2026-01-01T00:00:00Z".to_owned(),
            facts: vec![FactDifference {
                fact: "kernel".to_owned(),
                values: vec![Some("<6>".to_owned()), None],
            }],
            changes: vec![GuardChange {
                row: None,
                class: "latency".to_owned(),
                slower_percent: 12.5,
                limit_percent: 8.0,
                trend: None,
            }],
            classes: ["clock reads", "latency"]
                .map(|class| GuardClass {
                    class: class.to_owned(),
                    rows: 3,
                    smallest_percent: Some(8.0),
                    now_percent: None,
                })
                .to_vec(),
            ..GuardOutcome::default()
        }
    }

    #[test]
    fn metrics_have_help_type_and_finite_values() {
        let text = metrics(&found());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            let family = name.split('{').next().expect("a name");
            assert!(text.contains(&format!("# TYPE {family} gauge\n")), "{line}");
        }
        assert!(text.contains("sidestep_guard_verdict{verdict=\"changed\"} 1\n"), "{text}");
        assert!(text.contains("sidestep_guard_change_ratio{class=\"latency\"} 0.125\n"), "{text}");
        assert!(text.contains("last_check_timestamp_seconds 1767225600\n"), "{text}");
    }

    #[test]
    fn junit_counts_what_failed_and_foreign_text_stays_text() {
        let text = junit(&found());
        assert!(text.contains("tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\""), "{text}");
        assert!(text.contains("kernel: &lt;6&gt; -&gt; none</failure>") && !text.contains('\u{1}'), "{text}");
        let open = GuardOutcome {
            verdict: GuardVerdict::CannotTell,
            facts: Vec::new(),
            changes: Vec::new(),
            ..found()
        };
        assert!(junit(&open).contains("failures=\"0\" errors=\"0\" skipped=\"2\""));
    }
}
