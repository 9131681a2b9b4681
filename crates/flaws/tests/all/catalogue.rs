//! The catalogue's form: every built-in entry reads, and what does not is named with its file and line.

use flaws::{Catalogue, CatalogueError, catalogue};
use proptest::prelude::*;

const ENTRY: &str = r#"id = "x"
title = "title"
aliases = []
kind = "design"
effect = "effect"
suffers = "unknown"
sources = ["a document"]
no_detector = { reason = "nothing tells" }
"#;

#[test]
fn every_built_in_entry_reads_and_is_found_by_each_of_its_names() {
    let catalogue = catalogue();
    assert!(!catalogue.flaws.is_empty());
    for flaw in &catalogue.flaws {
        assert_eq!(catalogue.find(&flaw.id.to_uppercase()), Some(flaw));
        for alias in &flaw.aliases {
            assert!(catalogue.find(alias).is_some_and(|found| found.id == flaw.id), "{alias} of {}", flaw.id);
        }
    }
}

#[test]
fn a_wrong_entry_is_named_with_its_file_and_line() {
    let with = |line: &str| format!("{ENTRY}{line}\n");
    let cases = [
        (with("vulnerabilty_file = \"gds\""), "x.toml:9: "),
        (with("kind = \"bug\""), "x.toml:9: "),
        (with("[[affected]]\nvendor = \"GenuineIntel\"\nfamiliy = 6"), "x.toml:11: "),
        (ENTRY.replace("id = \"x\"", "id = \"y\""), "the id y is not the file's name"),
        (ENTRY.replace("[\"a document\"]", "[]"), "it names no source"),
        (ENTRY.replace("no_detector", "#"), "it needs either a detector"),
        (
            with("[[affected]]\nvendor = \"GenuineIntel\"\nfamily = 6\nmodels = [[9, 2]]"),
            "the range [9, 2] ends before it begins",
        ),
        (with("[[workaround]]\ndoes = \"it\"\nby = [\"bios\"]\nswitch = {}"), "how it is switched"),
        (
            with("[[workaround]]\ndoes = \"it\"\nby = [\"kernel\"]\nswitch = { boot = \"mds=, l1tf=full\" }"),
            "lacks a value",
        ),
    ];
    for (text, expected) in cases {
        let error = Catalogue::parse(&[("x.toml", &text)]).expect_err(&text).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let twice = Catalogue::parse(&[("x.toml", ENTRY), ("x.toml", ENTRY)]);
    assert!(matches!(twice, Err(CatalogueError::Sense { .. })));
}

proptest! {
    #[test]
    fn any_text_is_an_entry_or_an_error(text in "\\PC{0,200}", cut in 0usize..400) {
        let _ = Catalogue::parse(&[("x.toml", &text)]);
        let cut: String = ENTRY.chars().take(cut).collect();
        let _ = Catalogue::parse(&[("x.toml", &format!("{cut}{text}"))]);
    }
}
