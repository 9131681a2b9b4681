//! Rules of length: a file over 600 lines or a function over 70 is where thinking stopped.

use super::scan::{block_end, has_word};
use super::{Source, Violation};

/// A file has fewer lines than this. Source: STYLE.md, "Modules".
const FILE_LINES: usize = 600;
/// A function has fewer lines than this. Source: STYLE.md, "Modules".
const FUNCTION_LINES: usize = 70;
/// A lib.rs has fewer lines than this. Source: STYLE.md, "Modules".
const CONTENTS_LINES: usize = 80;

pub(super) fn first_line(source: &Source) -> Vec<Violation> {
    let says = source.raw.first().is_some_and(|line| line.starts_with("//! "));
    let reason = "line 1 must be `//!` and a sentence that says what the file is";
    if says { vec![] } else { vec![source.breach(1, reason.to_owned())] }
}

pub(super) fn lengths(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    let count = source.raw.len();
    if count >= FILE_LINES {
        found.push(source.breach(0, format!("{count} lines; a file has fewer than {FILE_LINES}")));
    }
    for (number, line) in source.numbered() {
        let Some(name) = function_name(line) else { continue };
        let Some(end) = block_end(&source.code, number - 1) else { continue };
        let count = end + 2 - number;
        if count >= FUNCTION_LINES {
            let reason = format!("fn {name} has {count} lines; a function has fewer than {FUNCTION_LINES}");
            found.push(source.breach(number, reason));
        }
    }
    found
}

pub(super) fn table_of_contents(source: &Source) -> Vec<Violation> {
    let count = source.raw.len();
    if !source.path.ends_with("/lib.rs") || count < CONTENTS_LINES {
        return vec![];
    }
    vec![source.breach(0, format!("{count} lines; lib.rs is a table of contents under {CONTENTS_LINES}"))]
}

/// The name of the function that this line begins, if it begins one; `fn(u8)` is a type and begins none.
fn function_name(line: &str) -> Option<&str> {
    if !has_word(line, "fn") {
        return None;
    }
    let (_, rest) = line.split_once("fn ")?;
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_first_sentence_is_named() {
        for (text, count) in [("//! A file.\n", 0), ("use a;\n", 1), ("//!\n", 1), ("", 1)] {
            assert_eq!(first_line(&Source::new("crates/stats/src/a.rs", text)).len(), count, "{text}");
        }
    }

    #[test]
    fn a_long_function_is_named_and_a_short_one_is_not() {
        let function = |inner: usize| format!("//! A.\npub fn long() {{\n{}}}\n", "    a();\n".repeat(inner));
        let check = |inner| lengths(&Source::new("crates/stats/src/a.rs", &function(inner)));
        assert_eq!(check(FUNCTION_LINES - 3), []);
        let found = check(FUNCTION_LINES - 2);
        assert_eq!(found.len(), 1);
        assert!(found[0].reason.contains("fn long has 70 lines"), "{}", found[0].reason);
    }

    #[test]
    fn braces_in_strings_do_not_lengthen_a_function() {
        let text = format!("//! A.\nfn a() {{\n    b(\"{{\");\n}}\n{}", "const C: u8 = 1;\n".repeat(80));
        assert_eq!(lengths(&Source::new("crates/stats/src/a.rs", &text)), []);
    }

    #[test]
    fn a_long_file_and_a_long_table_of_contents_are_named() {
        let text = "//! A.\n".repeat(FILE_LINES);
        assert_eq!(lengths(&Source::new("crates/stats/src/a.rs", &text)).len(), 1);
        let text = "//! A.\n".repeat(CONTENTS_LINES);
        assert_eq!(table_of_contents(&Source::new("crates/stats/src/lib.rs", &text)).len(), 1);
        assert_eq!(table_of_contents(&Source::new("crates/stats/src/a.rs", &text)), []);
    }
}
