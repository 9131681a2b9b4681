//! Text from outside made harmless for the place where it will stand: a terminal, markup, a script block, CSV.
//!
//! Host names, CPU names, DMI strings and command lines are written by others; a record may come by mail.

use std::fmt::Write;

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

/// JSON for a `<script>` block: no `<` is left, so no tag, end tag or comment can begin inside it, and no
/// character that deceives a reader of the source. The value stays the same.
pub(crate) fn script_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        if c == '<' || is_deceptive(c) {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// One field of a CSV row, quoted where RFC 4180 asks for it. A leading `=`, `+`, `-` or `@` of a text gets
/// an apostrophe, as spreadsheets would run it as a formula.
pub(crate) fn csv_text(text: &str) -> String {
    let mut field = plain(text);
    if field.starts_with(['=', '+', '-', '@']) {
        field.insert(0, '\'');
    }
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::{csv_text, markup, plain, script_json};

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
    fn json_in_a_script_block_cannot_close_the_block_and_stays_the_same_value() {
        let value = serde_json::json!({"name": "</script><!--<script>\u{2028}"});
        let escaped = script_json(&value.to_string());
        assert!(!escaped.contains('<') && !escaped.contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
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
