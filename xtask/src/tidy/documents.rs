//! Rules of the documents: links lead somewhere, pages stay short enough to be read, in the words of the field.
//!
//! Only relative links are checked, as a test needs no network. Links inside of code are text.

use std::collections::BTreeSet;

use super::{Source, Violation, has_extension};

/// The README is read on one visit. Source: STYLE.md, "Words".
const README_LINES: usize = 200;
/// A page of the methodology is one topic. Source: STYLE.md, "Words".
const METHODOLOGY_LINES: usize = 250;
/// The changes of a version fit one screen of a browser. Source: STYLE.md, "Words".
const VERSION_LINES: usize = 60;
/// A longer cell of a table is a paragraph. Source: STYLE.md, "Words".
const CELL_LETTERS: usize = 120;

/// Phrases that must not come back, and what to say. Source: STYLE.md, "Words".
const PHRASES: &[(&str, &str)] = &[
    ("nobody can tell", "unknown"),
    ("nobody knows", "unknown"),
    ("cannot be told", "undetermined"),
    ("could not be told", "undetermined"),
    ("told apart", "distinguishable"),
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("witness", "evidence"),
    ("witnesses", "evidence"),
    ("coin", "random order"),
    ("paid for", "active"),
    ("being told", "undeclared"),
    ("come to rest", "settle"),
    ("moods", "run-to-run states"),
    ("a thief", "steal"),
    ("lines under way", "outstanding lines"),
    ("beyond doubt", "the interval"),
    ("in random turns", "in random order"),
    ("learnt", "data sources"),
    ("on paper", "model"),
];

/// Every link of every Markdown file of `texts` that leads nowhere; `exists` knows the other files by path from the root.
pub(super) fn links(texts: &[(String, String)], exists: &dyn Fn(&str) -> bool) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| has_extension(path, "md")) {
        for (number, line) in prose(text) {
            for target in targets(&line) {
                if let Some(reason) = broken(path, target, texts, exists) {
                    found.push(Violation { path: path.clone(), line: number, reason });
                }
            }
        }
    }
    found
}

/// Every Rust file that a page on the structure names and that is nowhere.
pub(super) fn files(texts: &[(String, String)]) -> Vec<Violation> {
    let mut found = Vec::new();
    let pages = texts.iter().filter(|(path, _)| path == "ARCHITECTURE.md" || path == "CONTRIBUTING.md");
    for (page, text) in pages {
        for (index, line) in text.lines().enumerate() {
            let spans = line.split('`').skip(1).step_by(2).filter(|span| has_extension(span, "rs"));
            let is_there = |span: &str| texts.iter().any(|(path, _)| ends_with_path(path, span));
            for span in spans.filter(|span| !is_there(span)) {
                let reason = format!("no file is called {span}");
                found.push(Violation { path: page.clone(), line: index + 1, reason });
            }
        }
    }
    found
}

fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Documents, versions and table cells that are longer than their limit.
pub(super) fn lengths(path: &str, text: &str) -> Vec<Violation> {
    let breach = |line, reason| Violation { path: path.to_owned(), line, reason };
    let mut found = Vec::new();
    let limit = match path {
        "README.md" => Some(README_LINES),
        _ if path.starts_with("docs/methodology/") => Some(METHODOLOGY_LINES),
        _ => None,
    };
    let count = text.lines().count();
    if let Some(limit) = limit.filter(|limit| count > *limit) {
        found.push(breach(0, format!("{count} lines; this document has at most {limit}")));
    }
    if path == "CHANGELOG.md" {
        for (number, count) in versions(text).into_iter().filter(|(_, count)| *count > VERSION_LINES) {
            found.push(breach(number, format!("{count} lines; a version has at most {VERSION_LINES}")));
        }
    }
    if path == "README.md" {
        for (number, line) in prose(text).filter(|(_, line)| line.starts_with('|')) {
            let longest = line.split('|').map(|cell| cell.trim().chars().count()).max().unwrap_or(0);
            if longest > CELL_LETTERS {
                found.push(breach(number, format!("a cell of {longest} letters; at most {CELL_LETTERS}")));
            }
        }
    }
    found
}

/// Phrases that a reader has to guess at, in documents for users; the list in STYLE.md quotes them.
pub(super) fn phrases(path: &str, text: &str) -> Vec<Violation> {
    if !has_extension(path, "md") || path == "STYLE.md" {
        return vec![];
    }
    let lines: Vec<(usize, String)> =
        prose(text).map(|(number, line)| (number, line.to_lowercase())).collect();
    let mut found = Vec::new();
    for (index, (number, line)) in lines.iter().enumerate() {
        // A phrase may go on in the next line.
        let next = lines.get(index + 1).map_or("", |(_, next)| next.trim_start());
        let both = format!("{line} {next}");
        for (phrase, instead) in PHRASES.iter().filter(|(phrase, _)| begins_in(&both, line.len(), phrase)) {
            let reason = breach_of(phrase, instead);
            found.push(Violation { path: path.to_owned(), line: *number, reason });
        }
    }
    found
}

/// The same phrases in what a Rust file prints and in its comments.
pub(super) fn phrases_in_code(source: &Source) -> Vec<Violation> {
    let comments = source.comments.iter().enumerate().map(|(index, line)| (index + 1, line));
    let literals = source.literals.iter().map(|(line, text)| (*line, text));
    // The lists themselves, and keys of documents that stay.
    let is_list = source.path.starts_with("xtask/src/tidy/");
    let is_key = |line: usize| source.code[line - 1].contains("serde(rename");
    let texts = comments.chain(literals).filter(|(line, _)| !is_list && !is_key(*line));
    let phrases_of = |(line, text): (usize, &String)| {
        let text = text.to_lowercase();
        let found = PHRASES.iter().filter(|(phrase, _)| begins_in(&text, text.len(), phrase));
        found.map(|(phrase, instead)| source.breach(line, breach_of(phrase, instead))).collect::<Vec<_>>()
    };
    texts.flat_map(phrases_of).collect()
}

fn breach_of(phrase: &str, instead: &str) -> String {
    format!("\"{phrase}\" is no word of the field; say \"{instead}\" or the like")
}

/// Does `phrase` begin before `end` as whole words?
fn begins_in(text: &str, end: usize, phrase: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(start, _)| {
        let after = text[start + phrase.len()..].chars().next();
        start < end && !is_part(text[..start].chars().next_back()) && !is_part(after)
    })
}

/// Each version of a changelog: the line of its heading, and how many lines stand below it.
fn versions(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            found.push((index + 1, 0));
        } else if let Some((_, count)) = found.last_mut() {
            *count += 1;
        }
    }
    found
}

/// Lines outside of code blocks with their numbers from 1; code within a line is blanked.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then(|| (index + 1, without_code(line)))
    })
}

fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { part } else { " " }).collect()
}

/// What the links of a line lead to.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// Why `target` in the file at `path` leads nowhere, if it does.
fn broken(
    path: &str,
    target: &str,
    texts: &[(String, String)],
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let to = if file.is_empty() { path.to_owned() } else { resolved(path, file) };
    if !exists(&to) {
        return Some(format!("a link to {target}, and there is no {to}"));
    }
    let headings = texts.iter().find(|(found, _)| *found == to).map(|(_, text)| anchors(text));
    let is_there = anchor.is_empty() || headings.is_none_or(|headings| headings.contains(anchor));
    (!is_there).then(|| format!("a link to {target}, and {to} has no such heading"))
}

/// `file` as seen from the document at `path`, from the repository's root.
fn resolved(path: &str, file: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchors that a forge makes of the headings of a document.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Vec<String> {
        let texts = [
            ("docs/a.md".to_owned(), line.to_owned()),
            ("docs/b.md".to_owned(), "# Title\n\n## What can go wrong?\n".to_owned()),
        ];
        let exists = |path: &str| ["docs/a.md", "docs/b.md", "docs", "README.md"].contains(&path);
        links(&texts, &exists).into_iter().map(|violation| violation.reason).collect()
    }

    #[test]
    fn a_file_that_a_page_on_the_structure_names_is_there() {
        let texts = |page: &str| {
            [("ARCHITECTURE.md", page), ("crates/a/src/b/c.rs", "")]
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
        };
        assert_eq!(files(&texts("`c.rs`, `b/c.rs`, `crates/a/src/b/c.rs`, `c`")), []);
        assert_eq!(
            files(&texts("a\n`d/c.rs` and `x/b/c.rs`")).iter().map(|one| one.line).collect::<Vec<_>>(),
            [2, 2]
        );
    }

    #[test]
    fn links_to_files_folders_and_headings_that_are_there_are_good() {
        for line in [
            "[b](b.md) and [root](../README.md)",
            "[b](./b.md#what-can-go-wrong)",
            "[docs](../docs/)",
            "# Here\n[here](#here)",
            "[web](https://example.org/missing#x)",
            "`[code](missing.md)`",
            "```\n[code](missing.md)\n```",
        ] {
            assert_eq!(check(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        assert_eq!(check("[c](c.md)"), ["a link to c.md, and there is no docs/c.md"]);
        assert_eq!(check("![p](../p.png)"), ["a link to ../p.png, and there is no p.png"]);
        assert_eq!(check("[b](b.md#no)"), ["a link to b.md#no, and docs/b.md has no such heading"]);
        assert_eq!(check("```\ncode\n```\n[a](#no)").len(), 1);
    }

    #[test]
    fn documents_at_their_limit_are_good_and_longer_ones_are_named() {
        for (path, limit) in [("README.md", README_LINES), ("docs/methodology/a.md", METHODOLOGY_LINES)] {
            assert_eq!(lengths(path, &"a\n".repeat(limit)), [], "{path}");
            assert_eq!(lengths(path, &"a\n".repeat(limit + 1)).len(), 1, "{path}");
        }
        assert_eq!(lengths("docs/a.md", &"a\n".repeat(1000)), []);
    }

    #[test]
    fn phrases_of_a_private_language_are_named_by_the_line_they_begin_in() {
        for (text, line) in [
            ("a\nThis cannot be told.", 2),
            ("It cannot\n  be told.", 1),
            ("Two Witnesses.", 1),
            ("witness", 1),
        ] {
            let found = phrases("docs/a.md", text);
            assert_eq!(found.iter().map(|violation| violation.line).collect::<Vec<_>>(), [line], "{text}");
        }
        for text in ["`cannot be told`", "```\nis told\n```", "a coincidence", "this told us"] {
            assert_eq!(phrases("docs/a.md", text), [], "{text}");
        }
        assert_eq!(phrases("STYLE.md", "is told"), []);
        assert_eq!(phrases("crates/a.rs", "is told"), []);
    }

    #[test]
    fn each_version_has_a_limit_of_its_own() {
        let text = |first: usize, second: usize| {
            format!("# C\n\n## 2\n{}## 1\n{}", "- a\n".repeat(first), "- b\n".repeat(second))
        };
        assert_eq!(lengths("CHANGELOG.md", &text(VERSION_LINES, VERSION_LINES)), []);
        assert_eq!(lengths("CHANGELOG.md", &text(1, VERSION_LINES + 1))[0].line, 5);
    }

    #[test]
    fn a_cell_that_is_a_paragraph_is_named() {
        let row = |letters: usize| format!("| a | {} |\n", "x".repeat(letters));
        assert_eq!(lengths("README.md", &row(CELL_LETTERS)), []);
        assert_eq!(lengths("README.md", &row(CELL_LETTERS + 1)).len(), 1);
        assert_eq!(lengths("docs/a.md", &row(CELL_LETTERS + 1)), []);
    }
}
