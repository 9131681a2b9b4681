//! Documents out of a tree of JSON, and which field is wrong where one cannot be read.
//!
//! A document is always read from bytes: the code of its hundred types is then there once, for the tree and for a file.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error, Unexpected};
use serde_json::Value;

/// A field that is not what this version knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FieldError {
    /// Where it stands: `memory.stream[3].scope`; `.` for the document itself.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads a document of any kind.
///
/// # Errors
/// `FieldError` names the first field that cannot be read.
pub fn read_document<T: DeserializeOwned>(value: &Value) -> Result<T, FieldError> {
    let text = value.to_string();
    serde_json::from_slice(text.as_bytes()).map_err(|error| FieldError::of(&text, &error))
}

impl FieldError {
    /// Of a text of one line.
    pub(crate) fn of(text: &str, error: &serde_json::Error) -> Self {
        let json = text.as_bytes();
        // The text is valid: what its reader takes for a fault of form is a value of another kind where a word of a list has to stand, and
        // it has looked one byte ahead.
        if error.is_syntax() {
            let (before, rest) = json.split_at(error.column().saturating_sub(1).min(json.len()));
            let found = serde_json::Deserializer::from_slice(rest).into_iter::<Value>().next();
            if let Some(Ok(found)) = found {
                let reason = serde_json::Error::invalid_type(kind(&found), &"string or map").to_string();
                return Self { path: path_at(before), reason };
            }
        }
        let reason = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = reason.strip_suffix(&place).unwrap_or(&reason).to_owned();
        Self { path: path_at(&json[..error.column().min(json.len())]), reason }
    }
}

fn kind(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(is) => Unexpected::Bool(*is),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (_, Some(number)) => Unexpected::Signed(number),
            _ => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

/// The value that ends, or the field that is about to begin, where valid JSON is cut off.
fn path_at(json: &[u8]) -> String {
    /// What is open: an object with the field that it is at, once that is known, or an array with its index.
    enum Open {
        Object(Option<String>),
        Array(usize),
    }
    let mut open: Vec<Open> = Vec::new();
    let mut name = String::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                let end = end_of_string(json, at);
                name = String::from_utf8_lossy(&json[at + 1..end.saturating_sub(1).max(at + 1)]).into_owned();
                at = end;
                continue;
            }
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::Array(0)),
            b'}' | b']' => drop(open.pop()),
            b':' => {
                if let Some(Open::Object(field)) = open.last_mut() {
                    *field = Some(std::mem::take(&mut name));
                }
            }
            b',' => {
                name.clear();
                match open.last_mut() {
                    Some(Open::Object(field)) => *field = None,
                    Some(Open::Array(index)) => *index += 1,
                    None => {}
                }
            }
            _ => {}
        }
        at += 1;
    }
    // A field that is not known is the last word of an object.
    if let Some(Open::Object(field @ None)) = open.last_mut() {
        *field = Some(name).filter(|name| !name.is_empty());
    }
    let mut path = String::new();
    for step in open {
        match step {
            Open::Object(Some(field)) if path.is_empty() => path = field,
            Open::Object(Some(field)) => path = path + "." + &field,
            Open::Object(None) => {}
            Open::Array(index) => path = format!("{path}[{index}]"),
        }
    }
    if path.is_empty() { ".".to_owned() } else { path }
}

/// Behind the string that begins at `start`.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

/// The word of a kind, as it stands in documents.
pub fn word(kind: &impl Serialize) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    #[test]
    fn a_path_leads_to_the_value_that_ends_or_the_field_that_begins() {
        for (text, path) in [
            ("", "."),
            ("{", "."),
            (r#"{"a""#, "a"),
            (r#"{"a":"#, "a"),
            (r#"{"a":1.5"#, "a"),
            (r#"{"a":["#, "a[0]"),
            (r#"{"a":[1,{"b":2},3"#, "a[2]"),
            (r#"{"a":[1,{"b":2}"#, "a[1]"),
            (r#"{"a":[1,{"b":2,"c":"}],\"""#, "a[1].c"),
            (r#"{"a":[1],"b":{"c""#, "b.c"),
            (r#"{"a":[1],"b\"{":{"c":null"#, r#"b\"{.c"#),
            ("[[0],[1,2", "[1][1]"),
        ] {
            assert_eq!(path_at(text.as_bytes()), path, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_reported_without_a_place_in_a_text_that_nobody_sees() {
        let value = serde_json::json!([[1, 2], [3, -4]]);
        let error = read_document::<Vec<[u8; 2]>>(&value).expect_err("negative");
        assert_eq!(error.path, "[1][1]");
        assert_eq!(error.reason, "invalid value: integer `-4`, expected u8");
        assert_eq!(read_document::<Vec<[i8; 2]>>(&value), Ok(vec![[1, 2], [3, -4]]));
        for (found, kind) in [
            (serde_json::json!(null), "null"),
            (serde_json::json!([1]), "sequence"),
            (serde_json::json!(-1.5), "floating point `-1.5`"),
            (serde_json::json!(7), "integer `7`"),
        ] {
            let error =
                read_document::<Vec<Severity>>(&serde_json::json!(["notice", found])).expect_err(kind);
            let reason = format!("invalid type: {kind}, expected string or map");
            assert_eq!((error.path.as_str(), error.reason), ("[1]", reason));
        }
    }
}
