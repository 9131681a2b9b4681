//! Numbers that are none in JSON of others, as Python and C++ write them: quoted, each costs only itself.

use std::borrow::Cow;

/// Words that Python and C++ write where a number is none, and that JSON has not.
const ODD_NUMBERS: [&str; 4] = ["-Infinity", "Infinity", "-NaN", "NaN"];

/// The same text with quotes around numbers that are none, so that each costs only itself: for documents of others.
pub(super) fn with_odd_numbers_quoted(json: &str) -> Cow<'_, str> {
    if !ODD_NUMBERS.iter().any(|word| json.contains(word)) {
        return Cow::Borrowed(json);
    }
    let (mut found, mut rest) = (String::with_capacity(json.len()), json);
    let (mut is_quoted, mut is_escaped) = (false, false);
    while let Some(letter) = rest.chars().next() {
        let odd = ODD_NUMBERS.iter().find(|word| !is_quoted && rest.starts_with(**word));
        let taken = odd.map_or(letter.len_utf8(), |word| word.len());
        let quote = if odd.is_some() { "\"" } else { "" };
        found.extend([quote, &rest[..taken], quote]);
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && is_quoted && !is_escaped;
        rest = &rest[taken..];
    }
    Cow::Owned(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_become_words_and_words_stay() {
        let text = r#"{"NaN \" NaN":[NaN,-Infinity, 1],"b":"Infinity"}"#;
        assert_eq!(with_odd_numbers_quoted(text), r#"{"NaN \" NaN":["NaN","-Infinity", 1],"b":"Infinity"}"#);
    }
}
