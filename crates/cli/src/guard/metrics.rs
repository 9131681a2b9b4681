//! A check for machines: metrics in Prometheus' text format 0.0.4, and JUnit XML.

use std::fmt::Write;

use experiments::history::seconds_of_utc;
use record::{GuardOutcome, GuardVerdict};

const VERDICTS: [(GuardVerdict, &str); 3] = [
    (GuardVerdict::AsBefore, "as_before"),
    (GuardVerdict::Changed, "changed"),
    (GuardVerdict::CannotTell, "cannot_tell"),
];

/// The metrics of a check.
pub(super) fn metrics(found: &GuardOutcome) -> String {
    let mut text = String::new();
    let mut family = |name: &str, help: &str, samples: &[(String, f64)]| {
        let _ = writeln!(text, "# HELP sidestep_guard_{name} {help}\n# TYPE sidestep_guard_{name} gauge");
        for (labels, value) in samples {
            let _ = writeln!(text, "sidestep_guard_{name}{labels} {value}");
        }
    };
    let verdicts = VERDICTS.map(|(verdict, word)| {
        (format!("{{verdict=\"{word}\"}}"), f64::from(u8::from(verdict == found.verdict)))
    });
    family("verdict", "Whether the machine is as its baseline; one of them is 1.", &verdicts);
    family(
        "facts_changed",
        "Facts that differ from the baseline.",
        &[(String::new(), found.facts.len() as f64)],
    );
    family("numbers_changed", "Numbers beyond their limits.", &[(String::new(), found.changes.len() as f64)]);
    let of_class =
        |class: &str| found.changes.iter().find(|change| change.row.is_none() && change.class == class);
    let changes: Vec<(String, f64)> = found
        .classes
        .iter()
        .map(|class| {
            let change = of_class(&class.class).map_or(0.0, |change| change.slower_percent / 100.0);
            (format!("{{class=\"{}\"}}", class.class), change)
        })
        .collect();
    family("change_ratio", "Confirmed change of the cost of a class; slower is above zero.", &changes);
    let limits: Vec<(String, f64)> = found
        .classes
        .iter()
        .map(|class| (format!("{{class=\"{}\"}}", class.class), class.smallest_percent / 100.0))
        .collect();
    family("limit_ratio", "Smallest change of a class that a check can show.", &limits);
    if let Some(seconds) = seconds_of_utc(&found.checked_utc) {
        let help = "When the last check began.";
        family("last_check_timestamp_seconds", help, &[(String::new(), seconds as f64)]);
    }
    text
}

/// The check as a suite of tests: the facts, and each class of numbers.
pub(super) fn junit(found: &GuardOutcome) -> String {
    let withheld = found.verdict == GuardVerdict::CannotTell;
    let mut cases = Vec::new();
    let facts: Vec<String> = found
        .facts
        .iter()
        .map(|fact| {
            let value = |index: usize| fact.values.get(index).and_then(Option::as_deref).unwrap_or("none");
            format!("{}: {} -> {}", fact.fact, value(0), value(1))
        })
        .collect();
    cases.push(("facts", facts));
    for class in &found.classes {
        let of_class = found.changes.iter().filter(|change| change.class == class.class);
        let lines = of_class.map(|change| {
            let what = change.row.as_ref().unwrap_or(&change.class);
            format!("{what}: cost {:+.1} %, limit {:.1} %", change.slower_percent, change.limit_percent)
        });
        cases.push((&class.class, lines.collect()));
    }
    let failures = cases.iter().filter(|(_, lines)| !lines.is_empty()).count();
    let skipped = if withheld { cases.len() - 1 } else { 0 };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"sidestep guard\" tests=\"{}\" failures=\"{failures}\" \
         errors=\"0\" skipped=\"{skipped}\" timestamp=\"{}\">\n",
        cases.len(),
        escaped(found.checked_utc.trim_end_matches('Z'))
    );
    for (index, (name, lines)) in cases.iter().enumerate() {
        let _ = write!(text, "  <testcase classname=\"sidestep.guard\" name=\"{}\"", escaped(name));
        let body = if !lines.is_empty() {
            let (sentence, lines) = (escaped(&found.sentence), escaped(&lines.join("\n")));
            format!("><failure message=\"{sentence}\">{lines}</failure></testcase>\n")
        } else if withheld && index > 0 {
            format!("><skipped message=\"{}\"/></testcase>\n", escaped(&found.sentence))
        } else {
            "/>\n".to_owned()
        };
        text += &body;
    }
    text + "</testsuite>\n"
}

/// Text that may stand in XML 1.0, whose characters are fewer than Unicode's (section 2.2).
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\n' => safe.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
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
                    smallest_percent: 8.0,
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
