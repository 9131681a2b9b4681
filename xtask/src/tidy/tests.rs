//! The repository obeys its own rules. Each rule is shown to fail on a bad input in the file that defines it.

use super::*;
use crate::cargo::root;

#[test]
fn no_rule_of_the_house_is_broken() {
    let found = violations(&root()).expect("the repository can be read");
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} breaches:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn the_rules_see_every_crate_and_every_kind_of_file() {
    let root = root();
    let names: Vec<String> =
        manifests(&root).expect("manifests can be read").into_iter().map(|m| m.name).collect();
    for name in ["machine", "stats", "record", "kernels", "clock", "host", "probes", "report", "cli", "xtask"]
    {
        assert!(names.iter().any(|found| found == name), "{name} is not seen");
    }
    let texts = texts(&root).expect("texts can be read");
    for path in ["Cargo.toml", "README.md", "xtask/src/tidy.rs", "crates/cli/src/main.rs"] {
        assert!(texts.iter().any(|(found, _)| found == path), "{path} is not seen");
    }
}

#[test]
fn an_empty_file_of_a_crate_breaks_at_least_one_rule() {
    let source = Source::new("crates/stats/src/lib.rs", "");
    let count = SOURCE_RULES.iter().filter(|(_, rule)| !rule(&source).is_empty()).count();
    assert!(count >= 2, "first line and forbid(unsafe_code) at least, got {count}");
    assert!(TEXT_RULES.iter().all(|(_, rule)| rule("a.md", "").is_empty()));
}

#[test]
fn the_published_binary_stays_small_in_crates() {
    let crates = published_crates().expect("cargo metadata can be read");
    assert!(crates.len() > 1, "the walk found only {crates:?}");
    assert_eq!(too_many(crates.len()), None);
}

#[test]
fn every_source_rule_accepts_a_plain_file() {
    let text = "//! A plain file.\n\n/// One.\npub fn one() -> u64 {\n    1\n}\n";
    let source = Source::new("crates/stats/src/one.rs", text);
    for (name, rule) in SOURCE_RULES {
        assert_eq!(rule(&source), [], "{name}");
    }
}

#[test]
fn a_violation_says_where_and_why() {
    let violation = Violation { path: "a.rs".into(), line: 3, reason: "why".into() };
    assert_eq!(violation.to_string(), "a.rs:3: why");
}
