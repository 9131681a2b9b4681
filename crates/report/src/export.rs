//! Results for other programs: metrics in the Prometheus text format 0.0.4, which the textfile collector of node_exporter and every
//! scraper read, and suites of tests as JUnit XML, which every collector of test results reads. Data in, text out.

use std::fmt::Write;

use crate::escape::{markup, plain};
use crate::number::joined;

/// A family: what its samples are of.
#[derive(Debug, Clone)]
pub struct Family {
    /// Without the prefix.
    name: String,
    kind: &'static str,
    help: &'static str,
    /// A family without samples is not written.
    samples: Vec<Sample>,
}

impl Family {
    /// A family of a gauge, which goes up and down; its name ends with its unit.
    pub fn gauge(name: &str, help: &'static str) -> Self {
        Self { name: name.to_owned(), kind: "gauge", help, samples: Vec::new() }
    }

    /// A family of a counter, which only grows.
    pub fn counter(name: &str, help: &'static str) -> Self {
        Self { name: format!("{name}_total"), kind: "counter", help, samples: Vec::new() }
    }

    /// The same with these samples.
    #[must_use]
    pub fn of(self, samples: impl IntoIterator<Item = Sample>) -> Self {
        Self { samples: samples.into_iter().collect(), ..self }
    }
}

/// One sample; a value that is no number is not written.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Names of ours and values of anybody's.
    pub labels: Vec<(&'static str, String)>,
    /// In the unit of the family.
    pub value: f64,
}

impl Sample {
    /// A sample with these labels.
    pub fn new<const N: usize>(labels: [(&'static str, &str); N], value: f64) -> Self {
        Self { labels: labels.map(|(name, text)| (name, text.to_owned())).into(), value }
    }
}

/// The families as text, each name behind the prefix.
pub fn metrics(prefix: &str, families: impl IntoIterator<Item = Family>) -> String {
    let mut text = String::new();
    for Family { name, kind, help, samples } in families {
        let samples: Vec<Sample> = samples.into_iter().filter(|sample| sample.value.is_finite()).collect();
        if samples.is_empty() {
            continue;
        }
        let _ = writeln!(text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}");
        for Sample { labels, value } in samples {
            // What would end a label is made harmless.
            let harmless = |text: &str| plain(text).replace('\\', "\\\\").replace('"', "\\\"");
            let labels = labels.iter().map(|(name, text)| format!("{name}=\"{}\"", harmless(text)));
            let labels = joined(labels, ",");
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(text, "{prefix}{name}{labels} {value}");
        }
    }
    text
}

/// What was checked, in the words of test results.
#[derive(Debug, Clone, Default)]
pub struct TestSuite {
    /// `sidestep guard`: classes of cases are named by it, with a dot for each blank.
    pub name: &'static str,
    /// When, as UTC without its `Z`; empty if it is unknown.
    pub timestamp: String,
    /// What was checked.
    pub cases: Vec<TestCase>,
}

/// One thing that was checked.
#[derive(Debug, Clone)]
pub struct TestCase {
    /// Behind the class of the suite; empty for that alone.
    pub class: &'static str,
    /// What it is.
    pub name: String,
    /// What came of it.
    pub result: TestResult,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestResult {
    /// As it should be.
    Passed,
    /// Not judged, and why.
    Skipped(String),
    /// Not as it should be: a sentence, and the details.
    Failed {
        /// One line.
        message: String,
        /// Lines; may be empty.
        detail: String,
    },
}

/// The suite as XML.
pub fn junit(suite: &TestSuite) -> String {
    let count = |is_it: fn(&TestResult) -> bool| suite.cases.iter().filter(|one| is_it(&one.result)).count();
    let failures = count(|result| matches!(result, TestResult::Failed { .. }));
    let skipped = count(|result| matches!(result, TestResult::Skipped(_)));
    let (name, tests) = (suite.name, suite.cases.len());
    let timestamp = match suite.timestamp.as_str() {
        "" => String::new(),
        time => format!(" timestamp=\"{}\"", escaped(time)),
    };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"0\" skipped=\"{skipped}\"{timestamp}>\n"
    );
    for case in &suite.cases {
        let class = format!("{name} {}", case.class);
        let class = class.trim_end().replace(' ', ".");
        let _ = write!(text, "  <testcase classname=\"{class}\" name=\"{}\"", escaped(&case.name));
        let _ = match &case.result {
            TestResult::Passed => writeln!(text, "/>"),
            TestResult::Skipped(why) => {
                writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(why))
            }
            TestResult::Failed { message, detail } => {
                let (message, detail) = (escaped(message), escaped(detail));
                writeln!(text, "><failure message=\"{message}\">{detail}</failure></testcase>")
            }
        };
    }
    text + "</testsuite>\n"
}

/// Text that may stand in XML 1.0, whose characters are fewer than Unicode's (section 2.2); lines stay lines.
fn escaped(text: &str) -> String {
    joined(text.split('\n').map(markup), "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_and_foreign_text_stays_text() {
        let case = |name: &str, result| TestCase { class: "nodes", name: name.to_owned(), result };
        let failed =
            TestResult::Failed { message: "\"a\" <b>\u{1}".to_owned(), detail: "one\ntwo".to_owned() };
        let suite = TestSuite {
            name: "sidestep fleet",
            timestamp: "2026-01-01T00:00:00".to_owned(),
            cases: vec![
                case("n1", TestResult::Passed),
                case("n\"2<", failed),
                case("n3", TestResult::Skipped("busy".to_owned())),
            ],
        };
        let text = junit(&suite);
        assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" timestamp="), "{text}");
        assert!(text.contains("classname=\"sidestep.fleet.nodes\" name=\"n&quot;2&lt;\""), "{text}");
        assert!(text.contains("message=\"&quot;a&quot; &lt;b&gt;\u{fffd}\">one\ntwo</failure>"), "{text}");
        roxmltree::Document::parse(&text).expect("well formed");
    }

    /// The rules for which a scraper refuses or misreads a text: names of families, their types and help.
    fn check(text: &str) {
        let (mut family, mut kind) = ("", "");
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a name and help");
                assert!(help.ends_with('.'), "{line}");
                family = name;
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, word) = rest.split_once(' ').expect("a name and a type");
                assert!(name == family && ["counter", "gauge"].contains(&word), "{line}");
                assert_eq!(name.ends_with("_total"), word == "counter", "{line}");
                kind = word;
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a sample");
                let name = name.split_once('{').map_or(name, |(name, _)| name);
                assert!(name == family && !kind.is_empty(), "{line}");
                assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            }
        }
    }

    #[test]
    fn metrics_obey_their_format_and_hostile_names_stay_labels() {
        let families = [
            Family::counter("events", "What happened.").of([Sample::new([("kind", "step")], 2.0)]),
            Family::gauge("offset_seconds", "How far.")
                .of([Sample::new([("cpu", "1"), ("of", "x\"} 1\n\\")], -1.5e-9)]),
            Family::gauge("nothing", "Never written.").of([Sample::new([], f64::NAN)]),
        ];
        let text = metrics("sidestep_", families);
        check(&text);
        assert!(text.contains("sidestep_events_total{kind=\"step\"} 2\n"), "{text}");
        assert!(text.contains("sidestep_offset_seconds{cpu=\"1\",of=\"x\\\"} 1 \\\\\"} -"), "{text}");
        assert!(!text.contains("nothing"), "{text}");
    }
}
