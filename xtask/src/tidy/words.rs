//! Rules of words: names that say nothing, marks of unfinished work, paths of the machine it was written on.

use std::sync::LazyLock;

use regex::Regex;

use super::scan::has_word;
use super::{Source, Violation};

/// Drawers into which anything fits. Source: STYLE.md, "Names".
pub(super) const EMPTY_NAMES: &[&str] =
    &["util", "utils", "common", "core", "misc", "types", "helpers", "helper", "manager"];

pub(super) fn module_names(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, line) in source.numbered() {
        let Some((before, rest)) = line.split_once("mod ") else { continue };
        let is_item = before.trim().is_empty() || before.trim_end().ends_with(')') || before.trim() == "pub";
        let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("");
        if is_item && EMPTY_NAMES.contains(&name) {
            found
                .push(source.breach(number, format!("mod {name}: a module is named by a noun of the field")));
        }
    }
    found
}

pub(super) fn dead_markers(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, line) in source.numbered() {
        let dead = ["todo!", "unimplemented!", "dbg!", "#[ignore", "should_panic"];
        if let Some(word) = dead.iter().find(|word| has_word(line, word)) {
            found.push(
                source.breach(number, format!("{word}: nothing is left undone, ignored or unexplained")),
            );
        }
        if line.contains("allow(dead_code)") {
            found.push(source.breach(number, "dead code is deleted; git remembers".to_owned()));
        }
        if source.is_test[number - 1] && has_word(line, "sleep") {
            found.push(source.breach(number, "sleep: tests do not wait".to_owned()));
        }
        let comment = &source.comments[number - 1];
        let mark = ["TODO", "FIXME", "XXX"].into_iter().find(|mark| has_word(comment, mark));
        if let Some(mark) = mark.filter(|mark| !comment.contains(&format!("{mark}(#"))) {
            found.push(source.breach(number, format!("{mark} without an issue: write {mark}(#number)")));
        }
    }
    found
}

pub(super) fn unwraps(source: &Source) -> Vec<Violation> {
    let lines = source.production().filter(|(_, line)| line.contains(".unwrap()"));
    let rule = "unwrap stands only in tests; elsewhere expect(\"why it cannot fail\")";
    lines.map(|(number, _)| source.breach(number, rule.to_owned())).collect()
}

/// Words that were names once and say nothing to a reader of the field. Source: STYLE.md, "Names".
const RETIRED: &[&str] = &[
    "told",
    "untold",
    "wanted",
    "heard",
    "mood",
    "moods",
    "witness",
    "witnesses",
    "surroundings",
    "spoken",
    "rehearsal",
    "door",
    "crew",
    "doings",
    "roster",
    "planting",
    "thief",
];

/// A retired word as a part of a name, in any of the cases that names have.
static RETIRED_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let upper: Vec<String> = RETIRED.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    let (lower, upper) = (RETIRED.join("|"), upper.join("|"));
    let case = lower.to_uppercase();
    Regex::new(&format!("(?:\\b|_)(?:{lower}|{case})(?:\\b|_)|(?:\\b|[a-z])(?:{upper})(?:\\b|[A-Z])"))
        .expect("words make a pattern")
});

pub(super) fn retired_names(source: &Source) -> Vec<Violation> {
    let lines = source.numbered();
    let found = lines.filter_map(|(number, line)| Some((number, RETIRED_NAME.find(line)?.as_str())));
    let reason =
        |name: &str| format!("{}: not a word of the field; see STYLE.md, Names", name.trim_matches('_'));
    found.map(|(number, name)| source.breach(number, reason(name))).collect()
}

/// Written in pieces, so that this file passes its own rule.
const MACHINE_PATHS: &[[&str; 2]] = &[["/wo", "rk/"], ["/ro", "ot/"], [".lib", "rary/"], ["scc", "ache"]];

pub(super) fn machine_paths(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in MACHINE_PATHS.iter().map(|pieces| pieces.concat()) {
            if stands_alone(line, &word) {
                let reason = format!("{word} belongs to one machine, not to the project");
                found.push(Violation { path: path.to_owned(), line: index + 1, reason });
            }
        }
    }
    found
}

/// A folder of that name inside a recorded machine is no path of this one: something stands before its slash.
fn stands_alone(line: &str, word: &str) -> bool {
    let inside = |letter: char| letter.is_alphanumeric() || "._-}*".contains(letter);
    line.match_indices(word).any(|(start, _)| !line[..start].chars().next_back().is_some_and(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&Source) -> Vec<Violation>, line: &str) -> usize {
        rule(&Source::new("crates/stats/src/a.rs", &format!("//! A.\n{line}\n"))).len()
    }

    #[test]
    fn drawers_are_named_and_nouns_are_not() {
        for line in ["mod util;", "pub mod types {}", "pub(crate) mod core;"] {
            assert_eq!(check(module_names, line), 1, "{line}");
        }
        for line in ["mod topology;", "use core::fmt;", "// mod util;"] {
            assert_eq!(check(module_names, line), 0, "{line}");
        }
    }

    #[test]
    fn a_retired_word_is_found_in_every_case_and_only_as_a_whole_word() {
        for line in
            ["let told = 1;", "fn is_told()", "struct ToldBy;", "struct IsTold;", "const NOT_TOLD: u8 = 1;"]
        {
            assert_eq!(check(retired_names, line), 1, "{line}");
        }
        for line in
            ["let stolen = 1;", "// told", "\"told\"", "fn outdoor()", "let crews = 1;", "struct Wantedly;"]
        {
            assert_eq!(check(retired_names, line), 0, "{line}");
        }
    }

    #[test]
    fn marks_of_unfinished_work_are_named() {
        let macros = ["todo", "unimplemented"].map(|name| format!("{name}!()"));
        let others = [
            "dbg!(a)",
            "#[ignore = \"slow\"]",
            "#[should_panic]",
            "#[allow(dead_code)]",
            "// TODO later",
            "a(); // FIXME",
            "#[cfg(test)]\nmod tests { fn a() { std::thread::sleep(b) } }",
        ];
        for line in macros.iter().map(String::as_str).chain(others) {
            assert_eq!(check(dead_markers, line), 1, "{line}");
        }
        for line in ["// TODO(#12) later", "\"TODO\"", "fn a() { std::thread::sleep(b) }"] {
            assert_eq!(check(dead_markers, line), 0, "{line}");
        }
    }

    #[test]
    fn unwrap_is_named_outside_tests() {
        assert_eq!(check(unwraps, "a.unwrap();"), 1);
        assert_eq!(check(unwraps, "#[cfg(test)]\nmod tests { fn a() { b.unwrap() } }"), 0);
        assert_eq!(check(unwraps, "a.unwrap_or(b);"), 0);
    }

    #[test]
    fn paths_of_one_machine_are_named() {
        for pieces in MACHINE_PATHS {
            assert_eq!(machine_paths("README.md", &format!("see {}x", pieces.concat())).len(), 1);
        }
        let within = concat!("machines/small/ro", "ot/sys and frame-work/x");
        assert_eq!(machine_paths("README.md", within), []);
    }
}
