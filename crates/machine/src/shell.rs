//! Words as sh takes them, whatever is in them.

/// In single quotes.
pub fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// In single quotes where that is needed.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_otherwise_is_quoted() {
        for (word, expected) in
            [("a-b/c.d=1,2:3@4%+", "a-b/c.d=1,2:3@4%+"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(shell_word(word), expected);
        }
        assert_eq!(shell_quoted("a"), "'a'");
    }
}
