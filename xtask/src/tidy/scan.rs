//! One Rust file with its strings and comments separated from its code, line by line.

use std::sync::LazyLock;

use regex::Regex;

use super::Violation;

/// A Rust file, split into what the rules ask about. All parts have the line structure of the file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// The lines as written.
    pub raw: Vec<String>,
    /// The lines with the insides of strings, characters and comments blanked.
    pub code: Vec<String>,
    /// The comments of each line.
    pub comments: Vec<String>,
    /// String literals: the line they begin on (from 1) and what stands between the quotes.
    pub literals: Vec<(usize, String)>,
    /// For each line: does it belong to tests, or to a build script, which never runs on a user's machine?
    pub is_test: Vec<bool>,
}

impl Source {
    /// Splits `text`, the content of the file at `path`.
    pub fn new(path: &str, text: &str) -> Self {
        let parts = Parts::of(text);
        let code: Vec<String> = parts.code.split('\n').map(str::to_owned).collect();
        let comments = parts.comments.split('\n').map(str::to_owned).collect();
        let is_test = test_lines(path, &code);
        let raw = text.lines().map(str::to_owned).collect();
        Self { path: path.to_owned(), raw, code, comments, literals: parts.literals, is_test }
    }

    /// The crate this file belongs to: the folder below `crates`, or the first folder.
    pub fn crate_name(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or(""),
            first => first.unwrap_or(""),
        }
    }

    /// A breach in a line of this file; 0 is the whole file.
    pub(super) fn breach(&self, line: usize, reason: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, reason: reason.into() }
    }

    /// Code lines outside tests, with their numbers from 1.
    pub fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        self.numbered().filter(|(number, _)| !self.is_test[number - 1])
    }

    /// All code lines with their numbers from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }
}

/// Is `word` in `line` with no letter, digit or underscore on either side?
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let starts_open = word.chars().next().is_some_and(is_part);
        let ends_open = word.chars().last().is_some_and(is_part);
        let before = line[..start].chars().next_back().is_some_and(is_part);
        let after = line[start + word.len()..].chars().next().is_some_and(is_part);
        !(starts_open && before || ends_open && after)
    })
}

/// Lines of files that are tests or build scripts as a whole, and of blocks behind `#[cfg(test)]`.
fn test_lines(path: &str, code: &[String]) -> Vec<bool> {
    let whole = path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.ends_with("_test.rs")
        || path.ends_with("/build.rs");
    let mut marks = vec![whole; code.len()];
    let mut line = 0;
    while line < code.len() {
        if !code[line].contains("#[cfg(test)]") {
            line += 1;
            continue;
        }
        let end = block_end(code, line).unwrap_or(line);
        marks[line..=end].fill(true);
        line = end + 1;
    }
    marks
}

/// The last line of the item that starts at `start`: the closing brace of its block, or its semicolon.
pub(super) fn block_end(code: &[String], start: usize) -> Option<usize> {
    let mut depth = 0_i64;
    let mut brackets = 0_i64;
    for (number, line) in code.iter().enumerate().skip(start) {
        for letter in line.chars() {
            match letter {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                '{' => depth += 1,
                '}' => {
                    depth -= 1;
                    if depth == 0 && brackets == 0 {
                        return Some(number);
                    }
                }
                ';' if depth == 0 && brackets == 0 => return Some(number),
                _ => {}
            }
        }
    }
    None
}

/// What begins a comment, a string, or a whole character literal; the quote of a lifetime begins nothing.
static BEGINS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"//|/\*|\bb?r#*"|"|'(?:\\.[^']*|[^\\'])'"#).expect("the pattern is sound"));

/// The text in its parts, each with its line structure.
#[derive(Default)]
struct Parts {
    code: String,
    comments: String,
    literals: Vec<(usize, String)>,
    /// Line ends so far.
    lines: usize,
}

impl Parts {
    fn of(text: &str) -> Self {
        let (mut parts, mut rest) = (Self::default(), text);
        while let Some(found) = BEGINS.find(rest) {
            let (before, begin, after) = (&rest[..found.start()], found.as_str(), &rest[found.end()..]);
            parts.keep(before);
            rest = match begin {
                "//" => parts.comment(&rest[found.start()..], begin.len() + line_end(after)),
                "/*" => parts.comment(&rest[found.start()..], begin.len() + comment_end(after)),
                "\"" => parts.literal(begin, after, string_end(after), "\""),
                _ if begin.starts_with('\'') => {
                    parts.keep("'");
                    parts.blank(&begin[1..begin.len() - 1]);
                    parts.keep("'");
                    after
                }
                _ => {
                    let closing = format!("\"{}", "#".repeat(begin.matches('#').count()));
                    parts.literal(begin, after, after.find(&closing).unwrap_or(after.len()), &closing)
                }
            };
        }
        parts.keep(rest);
        parts
    }

    fn keep(&mut self, text: &str) {
        self.code.push_str(text);
        let ends = text.matches('\n').count();
        self.comments.extend(std::iter::repeat_n('\n', ends));
        self.lines += ends;
    }

    fn blank(&mut self, text: &str) {
        self.keep(&blanked(text));
    }

    /// Takes the comment of so many bytes with which `text` begins; what is behind it.
    fn comment<'t>(&mut self, text: &'t str, length: usize) -> &'t str {
        let (comment, behind) = text.split_at(length);
        self.code.push_str(&blanked(comment));
        self.lines += comment.matches('\n').count();
        self.comments.push_str(comment);
        behind
    }

    /// Takes a string; what is behind it.
    fn literal<'t>(&mut self, begin: &str, text: &'t str, length: usize, closing: &str) -> &'t str {
        self.keep(begin);
        let (inside, behind) = text.split_at(length);
        self.literals.push((self.lines + 1, inside.to_owned()));
        self.blank(inside);
        let behind = behind.strip_prefix(closing).inspect(|_| self.keep(closing));
        behind.unwrap_or("")
    }
}

fn blanked(text: &str) -> String {
    text.chars().map(|letter| if letter == '\n' { letter } else { ' ' }).collect()
}

fn line_end(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Comments may stand within comments.
fn comment_end(text: &str) -> usize {
    let (mut depth, mut at) = (1, 0);
    while depth > 0 {
        let Some(next) = ["*/", "/*"].iter().filter_map(|mark| text[at..].find(mark)).min() else {
            return text.len();
        };
        depth += if text[at + next..].starts_with("*/") { -1 } else { 1 };
        at += next + 2;
    }
    at
}

fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    let is_end = |letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    };
    text.find(is_end).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> String {
        Source::new("crates/stats/src/a.rs", text).code.join("\n")
    }

    #[test]
    fn strings_characters_and_comments_are_blanked() {
        for (text, code) in [
            ("a(\"{\\\"\"); b", "a(\"   \"); b"),
            ("a('{'); b", "a(' '); b"),
            ("a('\\''); b", "a('  '); b"),
            ("f::<'a>('b')", "f::<'a>(' ')"),
            ("x // {", "x     "),
            ("x /* { /* } */ */ y", "x                 y"),
            ("r#\"{\"}\"# z", "r#\"   \"# z"),
            ("br\"{\" z", "br\" \" z"),
            ("for\"{\"", "for\" \""),
        ] {
            assert_eq!(code_of(text), code, "{text}");
        }
    }

    #[test]
    fn literals_keep_their_line_and_comments_their_words() {
        let source = Source::new("crates/stats/src/a.rs", "a\n\"/sys/x\" // why\n");
        assert_eq!(source.literals, [(2, "/sys/x".to_owned())]);
        assert_eq!(source.comments[1], "// why");
    }

    #[test]
    fn test_blocks_end_where_their_brace_closes() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nuse x;\nfn d() {}\n";
        let source = Source::new("crates/stats/src/a.rs", text);
        let numbers: Vec<usize> = source.production().map(|(number, _)| number).collect();
        assert_eq!(numbers, [1, 6, 9, 10]);
    }

    #[test]
    fn words_are_whole_words() {
        assert!(has_word("let x = unsafe {", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
        assert!(has_word("eprintln!(x)", "eprintln!"));
        assert!(!has_word("eprintln!(x)", "println!"));
    }
}
