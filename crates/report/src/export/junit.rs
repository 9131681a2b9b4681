//! Suites of tests as JUnit XML, which every collector of test results reads.

use std::fmt::Write;

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
                let end = if detail.is_empty() { "/>".to_owned() } else { format!(">{detail}</failure>") };
                writeln!(text, "><failure message=\"{message}\"{end}</testcase>")
            }
        };
    }
    text + "</testsuite>\n"
}

/// Text that may stand in XML 1.0, whose characters are fewer than Unicode's (section 2.2); lines stay lines.
fn escaped(text: &str) -> String {
    text.split('\n').map(crate::escape::markup).collect::<Vec<_>>().join("\n")
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
}
