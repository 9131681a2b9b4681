//! One Rust file with its strings and comments told apart from its code, line by line.

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
        let mut scanner = Scanner::new(text);
        scanner.scan();
        let code: Vec<String> = scanner.code.split('\n').map(str::to_owned).collect();
        let comments = scanner.comments.split('\n').map(str::to_owned).collect();
        let is_test = test_lines(path, &code);
        let raw = text.lines().map(str::to_owned).collect();
        Self { path: path.to_owned(), raw, code, comments, literals: scanner.literals, is_test }
    }

    /// The crate this file belongs to: the folder below `crates`, or the first folder.
    pub fn crate_name(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or(""),
            first => first.unwrap_or(""),
        }
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
    let whole = path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("/build.rs");
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

struct Scanner {
    letters: Vec<char>,
    at: usize,
    line: usize,
    code: String,
    comments: String,
    literals: Vec<(usize, String)>,
}

impl Scanner {
    fn new(text: &str) -> Self {
        let letters = text.chars().collect();
        Self { letters, at: 0, line: 1, code: String::new(), comments: String::new(), literals: Vec::new() }
    }

    fn scan(&mut self) {
        while let Some(letter) = self.peek(0) {
            match letter {
                '/' if self.peek(1) == Some('/') => self.line_comment(),
                '/' if self.peek(1) == Some('*') => self.block_comment(),
                '"' => self.string(),
                'r' if !self.follows_a_word() && self.raw_hashes().is_some() => self.raw_string(),
                '\'' => self.character(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// `br"` is a raw string as well, hence `b` does not count as a word.
    fn follows_a_word(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|index| self.letters.get(index));
        before.is_some_and(|letter| (letter.is_alphanumeric() || *letter == '_') && *letter != 'b')
    }

    /// Takes one letter: line ends go to all parts, others to the part that `code` and `comment` name.
    fn take(&mut self, code: bool, comment: bool) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += 1;
        if letter == '\n' {
            self.line += 1;
            self.code.push('\n');
            self.comments.push('\n');
        } else {
            self.code.push(if code { letter } else { ' ' });
            if comment {
                self.comments.push(letter);
            }
        }
        Some(letter)
    }

    fn keep(&mut self) {
        self.take(true, false);
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.take(false, true);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            let pair = (self.peek(0), self.peek(1));
            if pair == (Some('/'), Some('*')) {
                depth += 1;
                self.take(false, true);
            } else if pair == (Some('*'), Some('/')) {
                depth -= 1;
                self.take(false, true);
            }
            if self.take(false, true).is_none() || depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        let line = self.line;
        let mut inside = String::new();
        self.keep();
        while let Some(letter) = self.peek(0) {
            if letter == '"' {
                self.keep();
                break;
            }
            self.take(false, false);
            inside.push(letter);
            if letter == '\\' {
                inside.extend(self.take(false, false));
            }
        }
        self.literals.push((line, inside));
    }

    /// How many `#` stand between this `r` and its quote, if it begins a raw string.
    fn raw_hashes(&self) -> Option<usize> {
        let hashes = self.letters[self.at + 1..].iter().take_while(|letter| **letter == '#').count();
        (self.peek(1 + hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or(0);
        let line = self.line;
        let mut inside = String::new();
        (0..hashes + 2).for_each(|_| self.keep());
        while let Some(letter) = self.peek(0) {
            let closes = letter == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if closes {
                (0..=hashes).for_each(|_| self.keep());
                break;
            }
            self.take(false, false);
            inside.push(letter);
        }
        self.literals.push((line, inside));
    }

    /// A character literal is blanked; a lifetime is code.
    fn character(&mut self) {
        let is_escape = self.peek(1) == Some('\\');
        if !is_escape && self.peek(2) != Some('\'') {
            return self.keep();
        }
        self.keep();
        if is_escape {
            self.take(false, false);
        }
        self.take(false, false);
        while self.peek(0).is_some_and(|letter| letter != '\'') {
            self.take(false, false);
        }
        self.keep();
    }
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
