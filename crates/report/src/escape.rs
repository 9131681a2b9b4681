//! Text from outside made harmless for the place where it will stand: a terminal, markup, a shell, CSV.
//!
//! Host names, CPU names, DMI strings and command lines are written by others; a record may come by mail.

/// Stands for a character that must not reach the reader.
const REPLACEMENT: char = '\u{fffd}';

/// True for characters that are invisible, or that turn the direction of the text around them.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// One line of plain text: white space becomes a blank, control and deceptive characters become U+FFFD.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() || is_deceptive(c) => REPLACEMENT,
            c => c,
        })
        .collect()
}

/// Text for HTML and XML, as content or inside a quoted attribute.
pub(crate) fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// An argument as a shell needs it, on one line and without what would steer a terminal.
pub fn shell_word(argument: &str) -> String {
    machine::shell_word(&plain(argument))
}

/// One field of a CSV row, on one line.
pub(crate) fn csv_text(text: &str) -> String {
    machine::table_field(&plain(text))
}

#[cfg(test)]
mod tests {
    use super::{csv_text, markup, plain, shell_word};

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        for (text, expected) in [
            ("web-01", "web-01"),
            ("\u{1b}[2Jgone", "\u{fffd}[2Jgone"),
            ("a\nb\tc", "a b c"),
            ("\u{9b}31m", "\u{fffd}31m"),
            ("abc\u{202e}cba", "abc\u{fffd}cba"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn markup_cannot_open_a_tag_or_close_an_attribute() {
        assert_eq!(markup("<b a='1' c=\"2\">&"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
        assert_eq!(markup("]]>\u{0}"), "]]&gt;\u{fffd}");
    }

    #[test]
    fn arguments_are_quoted_only_where_a_shell_needs_it() {
        for (argument, expected) in
            [("--cpus", "--cpus"), ("0-3,8", "0-3,8"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''")]
        {
            assert_eq!(shell_word(argument), expected);
        }
    }

    #[test]
    fn csv_fields_are_quoted_and_never_formulas() {
        for (text, expected) in
            [("triad", "triad"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("=1+1", "'=1+1")]
        {
            assert_eq!(csv_text(text), expected);
        }
    }
}
