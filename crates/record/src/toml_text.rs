//! Files in TOML, read by the one reader of documents: a type that a file describes then needs no second reader.
//!
//! The text becomes one line of JSON; where that cannot be read, its place leads back to a line of the text.

use serde::de::DeserializeOwned;
use serde_json::Number;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::field::FieldError;

/// Why a text in TOML is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TomlError {
    /// From 1.
    pub line: usize,
    /// Where it stands: `metric[3].scope`; `.` for the text itself.
    pub path: String,
    /// What is wrong, on one line.
    pub reason: String,
}

/// What a text in TOML describes.
///
/// # Errors
/// It is no TOML, or a field is not what it should be.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    let converted = Converted::of(text)?;
    serde_json::from_slice(converted.json.as_bytes()).map_err(|error| converted.error(text, &error))
}

/// A text as JSON.
#[derive(Default)]
struct Converted {
    json: String,
    /// Where a key, a value or the end of a table begins in the JSON, and what it comes from in the text, in bytes.
    origins: Vec<(usize, usize)>,
    /// A number that is none, or has no end, and where it stands in the text: JSON has no word for it, and no file a use.
    infinite: Option<(usize, String)>,
}

impl Converted {
    fn of(text: &str) -> Result<Self, TomlError> {
        let table = DeTable::parse(text).map_err(|error| TomlError {
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            path: ".".to_owned(),
            reason: error.message().lines().collect::<Vec<_>>().join(" "),
        })?;
        let mut converted = Self::default();
        converted.table(table.get_ref(), table.span().start);
        match converted.infinite.take() {
            Some((origin, number)) => Err(TomlError {
                line: line_of(text, origin),
                path: ".".to_owned(),
                reason: format!("{number} stands for no quantity; give a finite number"),
            }),
            None => Ok(converted),
        }
    }

    fn error(&self, text: &str, error: &serde_json::Error) -> TomlError {
        let FieldError { path, reason } = FieldError::of(&self.json, error);
        let before = self.origins.partition_point(|(at, _)| *at < error.column());
        let origin = before.checked_sub(1).map_or(0, |index| self.origins[index].1);
        TomlError { line: line_of(text, origin), path, reason }
    }

    fn mark(&mut self, origin: usize) {
        self.origins.push((self.json.len(), origin));
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) {
        let origin = value.span().start;
        self.mark(origin);
        match value.get_ref() {
            DeValue::String(text) => self.string(text),
            DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => self.json.push_str(&number.to_string()),
                Err(_) => self.string(number.as_str()),
            },
            DeValue::Float(number) => match number.as_str().parse().ok().and_then(Number::from_f64) {
                Some(number) => self.json.push_str(&number.to_string()),
                None if self.infinite.is_none() => self.infinite = Some((origin, number.as_str().to_owned())),
                None => {}
            },
            DeValue::Boolean(is) => self.json.push_str(if *is { "true" } else { "false" }),
            DeValue::Datetime(time) => self.string(&time.to_string()),
            DeValue::Array(members) => self.array(members, origin),
            DeValue::Table(table) => self.table(table, origin),
        }
    }

    fn string(&mut self, text: &str) {
        self.json.push_str(&serde_json::Value::from(text).to_string());
    }

    fn array(&mut self, members: &DeArray<'_>, origin: usize) {
        self.json.push('[');
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                self.json.push(',');
            }
            self.value(member);
        }
        self.mark(origin);
        self.json.push(']');
    }

    fn table(&mut self, table: &DeTable<'_>, origin: usize) {
        self.json.push('{');
        for (index, (key, value)) in table.iter().enumerate() {
            if index > 0 {
                self.json.push(',');
            }
            self.mark(key.span().start);
            self.string(key.get_ref());
            self.json.push(':');
            self.value(value);
        }
        self.mark(origin);
        self.json.push('}');
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        name: String,
        #[serde(default)]
        values: Vec<f64>,
        bits: Option<u32>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Whole {
        part: Vec<Part>,
    }

    #[test]
    fn a_text_is_read_with_numbers_of_every_form() {
        let text = "[[part]]\nname = 'a\"b'\nvalues = [1, 2.5, -1e3, 1_000]\nbits = 0xFFFF_FFFF\n[[part]]\nname = \"c\"";
        let first = Part { name: "a\"b".to_owned(), values: vec![1.0, 2.5, -1e3, 1e3], bits: Some(u32::MAX) };
        let second = Part { name: "c".to_owned(), values: vec![], bits: None };
        assert_eq!(read_toml::<Whole>(text), Ok(Whole { part: vec![first, second] }));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_its_path() {
        for (text, line, path, reason) in [
            ("[[part]]\nname = 1", 2, "part[0].name", "invalid type: integer `1`, expected a string"),
            ("[[part]]\nname = \"a\"\nwings = 2", 3, "part[0].wings", "unknown field `wings`"),
            ("\n[[part]]\nbits = 1\n", 2, "part[0]", "missing field `name`"),
            ("[[part]]\nname = \"a\"\nbits = -1", 3, "part[0].bits", "invalid value: integer `-1`"),
            ("[[part]]\nname = \"a\"\nvalues = [\n1,\ninf]", 5, ".", "inf stands for no quantity"),
            ("", 1, ".", "missing field `part`"),
            ("[[part]]\nname = ", 2, ".", "string values must be quoted"),
        ] {
            let error = read_toml::<Whole>(text).expect_err(reason);
            assert_eq!((error.line, error.path.as_str()), (line, path), "{error:?}");
            assert!(error.reason.contains(reason), "{error:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\[+[a-z.]+\\]+\n|[a-z]+ = [0-9a-z\"'\\[\\]{}._:-]*\n){0,8}") {
            let _ = read_toml::<Whole>(&text);
            let _ = read_toml::<serde_json::Value>(&text);
        }

        #[test]
        fn any_string_is_kept(text in ".*") {
            let table = format!("text = {}", serde_json::Value::from(text.as_str()));
            if let Ok(read) = read_toml::<serde_json::Value>(&table) {
                prop_assert_eq!(read["text"].as_str(), Some(text.as_str()));
            }
        }
    }
}
