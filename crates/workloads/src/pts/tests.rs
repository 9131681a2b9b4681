//! Profiles, logs and numbers: what the suite finds, and what it is refused for.

use proptest::prelude::*;

use super::*;

const DEFINITION_TEXT: &str = r#"<?xml version="1.0"?>
<PhoronixTestSuite>
  <TestInformation>
    <Title>Sieve</Title>
    <ResultScale>Primes Per Second</ResultScale>
    <Proportion>HIB</Proportion>
  </TestInformation>
  <TestProfile><License>Free</License><TestType>Processor</TestType></TestProfile>
  <TestSettings>
    <Default><Arguments>--quiet</Arguments><PostArguments>--end</PostArguments></Default>
    <Option>
      <DisplayName>Size</DisplayName><Identifier>size</Identifier><ArgumentPrefix>-n </ArgumentPrefix>
      <DefaultEntry>2</DefaultEntry>
      <Menu>
        <Entry><Name>Small</Name><Value>1k</Value></Entry>
        <Entry><Name>Large</Name><Value>1M</Value></Entry>
      </Menu>
    </Option>
    <Option><DisplayName>Seed</DisplayName><Identifier>seed</Identifier><ArgumentPrefix>-s </ArgumentPrefix></Option>
  </TestSettings>
</PhoronixTestSuite>"#;

fn profile(parsers: &str) -> PtsProfile {
    let results = format!("<PhoronixTestSuite>{parsers}</PhoronixTestSuite>");
    read(DEFINITION_TEXT, Some(&results)).expect("a profile")
}

/// A profile of one template with more elements.
fn parser(template: &str, more: &str) -> PtsProfile {
    profile(&format!("<ResultsParser><OutputTemplate>{template}</OutputTemplate>{more}</ResultsParser>"))
}

/// Template, more elements, log, the number.
type Case = (&'static str, &'static str, &'static str, Option<f64>);

const CASES: &[Case] = &[
    // The number is found by its position among the words of the line.
    ("rate: #_RESULT_# /s", "", "begin\nrate: 12.5 /s\n", Some(12.5)),
    ("rate: #_RESULT_# /s", "", "rate: 1 /s\nrate: 2 /s\n", Some(2.0)),
    ("rate: #_RESULT_# /s", "", "speed: 1 /s\n", None),
    ("rate: #_RESULT_# /s", "", "rate: none /s\n", None),
    ("a 7 b #_RESULT_# c", "<LineHint>a</LineHint>", "a 123 b 9 c\n", Some(9.0)),
    // A later line with the text and without a number does not hide it.
    ("rate: #_RESULT_#", "", "rate: 3\nrate: done\n", Some(3.0)),
    // Brackets, equal signs and labels that touch.
    ("(#_RESULT_# fps)", "<LineHint>fps</LineHint>", "x (5 fps)\ny (6 fps)\n", None),
    ("done (#_RESULT_# fps)", "<LineHint>fps</LineHint>", "x (5 fps)\n", Some(5.0)),
    ("fps=#_RESULT_#", "", "fps=8\n", Some(8.0)),
    ("Score: #_RESULT_#", "", "Score:12\n", Some(12.0)),
    ("1/#_RESULT_# s", "<LineHint>1/</LineHint>", "1/4 s\n", Some(4.0)),
    // Hints in the lines around.
    ("#_RESULT_# x", "<LineBeforeHint>Sum</LineBeforeHint>", "Sum\n4 x\nSum\n5 x\n6 x\n", Some(5.0)),
    ("#_RESULT_# x", "<LineBeforeHint>Sum</LineBeforeHint>", "4 x\n5 x\n", None),
    ("n #_RESULT_#", "<LineAfterHint>copy</LineAfterHint>", "copy 1\nn 2\n", Some(2.0)),
    // Marks before and behind.
    ("t #_RESULT_# s", "<ResultBeforeString>s</ResultBeforeString>", "t a b c 7 s\n", Some(7.0)),
    ("t at #_RESULT_#", "<ResultAfterString>at</ResultAfterString>", "t at x at : 7 s\n", None),
    ("t at #_RESULT_#", "<ResultAfterString>at</ResultAfterString>", "t at : 7 s\n", Some(7.0)),
    // What surrounds the number.
    ("t #_RESULT_#", "<StripFromResult>,</StripFromResult>", "t 1,234\n", Some(1234.0)),
    ("t #_RESULT_#", "<StripResultPostfix>ms</StripResultPostfix>", "t 4ms\n", Some(4.0)),
    ("t #_RESULT_#", "<TurnCharsToSpace>|</TurnCharsToSpace>", "t|4|5\n", Some(4.0)),
    ("t #_RESULT_#", "<FileFormat>CSV</FileFormat><LineHint>t</LineHint>", "t,4,5\n", Some(4.0)),
    ("t #_RESULT_#", "", "t 2m3s\n", Some(123.0)),
    // Scales.
    ("t #_RESULT_#", "<DivideResultBy>1000</DivideResultBy>", "t 5\n", Some(0.005)),
    ("t #_RESULT_#", "<MultiplyResultBy>1000</MultiplyResultBy>", "t 5\n", Some(5000.0)),
    ("t #_RESULT_#", "<DivideResultDivisor>60</DivideResultDivisor>", "t 5\n", Some(12.0)),
    // Several lines.
    ("t #_RESULT_#", "<MultiMatch>AVERAGE</MultiMatch>", "t 1\nu 9\nt 3\n", Some(2.0)),
    ("t #_RESULT_#", "<MultiMatch>AVERAGE</MultiMatch>", "t 7\nt none\nt 1\nt 3\nt end\n", Some(2.0)),
    // Parts of the log.
    ("t #_RESULT_#", "<DeleteOutputAfter>end</DeleteOutputAfter>", "t 1\nend\nt 2\n", Some(1.0)),
    ("t #_RESULT_#", "<DeleteOutputBefore>now</DeleteOutputBefore>", "t 1\nnow\n", None),
    // The whole log is a number.
    ("#_RESULT_#", "", "12.5\n", Some(12.5)),
    ("#_RESULT_#", "", "12.5\n13\n", None),
    // A template of several lines, a misspelt key, no line break at the end, none that fits.
    ("head\nall #_RESULT_#\nfoot 9", "", "head\nall 5\nfoot 6\n", Some(5.0)),
    ("rate: #_RESULTS_#", "", "rate: 5", Some(5.0)),
    ("t #_RESULT_#", "<MatchToTestArguments>-n 1k</MatchToTestArguments>", "t 5\n", None),
];

#[test]
fn a_number_is_found_as_the_suite_finds_it() {
    for (template, more, log, expected) in CASES {
        let found = parser(template, more).result(log, "-n 1M").ok();
        assert_eq!(found, *expected, "{template:?} {more} {log:?}");
    }
    let geometric = parser("t #_RESULT_#", "<MultiMatch>GEOMETRIC_MEAN</MultiMatch>");
    let mean = geometric.result("t 2\nt 8\n", "").expect("two numbers");
    assert!((mean - 4.0).abs() < 1e-12, "{mean}");
}

#[test]
fn templates_hold_for_arguments_and_have_units_of_their_own() {
    let text = "<ResultsParser><OutputTemplate>a #_RESULT_#</OutputTemplate>\
                <MatchToTestArguments>1k</MatchToTestArguments><ResultScale>ms</ResultScale>\
                <ResultProportion>LIB</ResultProportion></ResultsParser>\
                <ResultsParser><OutputTemplate>b #_RESULT_#</OutputTemplate><Importance>Secondary</Importance>\
                <ArgumentsDescription>b</ArgumentsDescription></ResultsParser>\
                <ResultsParser><OutputTemplate>c #_RESULT_#</OutputTemplate></ResultsParser>";
    let profile = profile(text);
    let log = "a 1\nb 2\nc 3\n";
    assert_eq!(profile.result(log, "-n 1k"), Ok(1.0));
    assert_eq!(profile.unit("-n 1k"), ("ms", Better::Lower));
    assert_eq!(profile.result(log, "-n 1M"), Ok(3.0), "a secondary number does not count");
    assert_eq!(profile.unit(""), ("Primes Per Second", Better::Higher));
    assert_eq!(profile.result("b 2\n", ""), Ok(2.0), "unless there is no other");
    assert_eq!(profile.result("", ""), Err(PtsError::NoResult));
    assert_eq!(profile.result("c 3\n", "-n 1k"), Err(PtsError::NoResult), "it is no number of milliseconds");
    let by_arguments = parser("x: #_-n1k_#\ny: #_-n1M_#", "<ResultKey>PTS_USER_SET_ARGUMENTS</ResultKey>");
    assert_eq!(by_arguments.result("x: 1\ny: 2\n", "--quiet -n 1M --end"), Ok(2.0));
}

#[test]
fn arguments_are_made_of_defaults_and_choices() {
    let profile = profile("");
    assert_eq!(profile.arguments(&[]).as_deref(), Ok("--quiet -n 1M --end"));
    assert_eq!(
        profile.arguments(&[("Size", "Small"), ("seed", "7")]).as_deref(),
        Ok("--quiet -n 1k -s 7 --end")
    );
    let unknown = profile.arguments(&[("size", "Huge")]).expect_err("no such entry").to_string();
    assert_eq!(unknown, "the profile has no entry Huge of size; it has Small, Large");
    let unknown = profile.arguments(&[("sise", "Small")]).expect_err("no such option").to_string();
    assert_eq!(unknown, "the profile has no option sise; it has size, seed");
}

#[test]
fn what_is_not_understood_is_said() {
    for (results, expected) in [
        ("<ResultsParser><OutputTemplate>t #_RESULT_#</OutputTemplate></ResultsParser>", ""),
        ("<SystemMonitor><Sensor>sys.time</Sensor></SystemMonitor>", ""),
        ("<SystemMonitor><Sensor>sys.power</Sensor></SystemMonitor>", "the sensor sys.power"),
        ("<ImageParser/>", "images"),
        ("", "it has no ResultsParser"),
        (
            "<ResultsParser><OutputTemplate>a\nb</OutputTemplate></ResultsParser>",
            "ResultsParser 1: its template shows no",
        ),
        (
            "<ResultsParser><OutputTemplate>t #_RESULT_#</OutputTemplate><Rot13>x</Rot13></ResultsParser>",
            "ResultsParser 1: the element Rot13",
        ),
    ] {
        let found = profile(results).not_understood.join("; ");
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{results}: {found}");
    }
    let list = parser("t #_RESULT_#", "<MultiMatch>REPORT_ALL</MultiMatch>");
    assert_eq!(list.not_understood, ["ResultsParser 1: MultiMatch REPORT_ALL"]);
    assert!(list.result("t 1\n", "").is_err());
    assert!(profile("<SystemMonitor><Sensor>sys.time</Sensor></SystemMonitor>").is_timed);
}

#[test]
fn a_profile_finds_the_numbers_of_its_own_templates() {
    for (template, more, ..) in CASES.iter().filter(|(template, ..)| !template.starts_with('(')) {
        let failed = parser(template, more).rehearse();
        assert!(failed.is_empty(), "{template:?} {more}: {failed:?}");
    }
    let failed = parser("Done in #_RESULT_# s", "<ResultBeforeString>sec</ResultBeforeString>").rehearse();
    assert_eq!(failed, ["ResultsParser 1: its own template gives None in place of 512.25"]);
}

#[test]
fn files_that_are_no_profile_are_named() {
    for (definition, expected) in [
        ("", "test-definition.xml is not of a test profile: "),
        ("<a/>", "test-definition.xml is not of a test profile: its outermost"),
        (
            "<PhoronixTestSuite/>",
            "test-definition.xml is not of a test profile: it has no TestInformation/Title",
        ),
    ] {
        let error = read(definition, None).expect_err(definition).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = read(DEFINITION_TEXT, Some("<")).expect_err("no XML").to_string();
    assert!(error.starts_with("results-definition.xml is not of a test profile"), "{error}");
    let deep = format!("<PhoronixTestSuite>{}", "<a>".repeat(100_000));
    assert!(read(&deep, None).expect_err("deep").to_string().contains("are open at once"));
    assert_eq!(
        read(DEFINITION_TEXT, None).expect("a profile").not_understood,
        ["it has no results-definition.xml"]
    );
}

proptest! {
    #[test]
    fn no_log_and_no_template_can_make_it_panic(template in "[ -~\n#_RESULT]{0,60}", log in "[ -~\n\tä]{0,200}", hint in "[ -~]{0,3}") {
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let more = format!("<LineHint>{}</LineHint>", escape(&hint));
        let profile = parser(&escape(&template), &more);
        prop_assert!(profile.result(&log, "-n").map_or(true, f64::is_finite));
        let _ = profile.rehearse();
    }
}
