//! A check for machines: as metrics.

use experiments::history::seconds_of_utc;
use record::{GuardClass, GuardOutcome, GuardVerdict};
use report::{Family, Sample};

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
}
