//! Results from elsewhere: bytes in, configurations out. What a file is, is seen from its content, never from its name.

mod criterion;
mod elsewhere;
mod fio;
mod go_bench;
mod google_benchmark;
mod hyperfine;
mod jmh;
mod odd_numbers;
mod perf_stat;
mod phoronix;
mod pytest_benchmark;
mod table;
mod test_list;

use record::{DecodeError, JsonError, json_values, outermost_fields, own_document};
use serde_json::Value;

use super::{Configuration, SourceKind, configuration_of_record};
use test_list::Results;

/// First bytes of a zstd frame, in which records may be packed. RFC 8878, section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// More text than any benchmark prints, and as tables it takes twenty times as much memory.
const TEXT_BYTES_MAX: usize = 32 << 20;

/// More values than any benchmark prints; each takes a hundred bytes on both sides of a comparison.
const VALUES_MAX: usize = 1 << 20;
/// What JSON may hold beside values: names, codes, summaries. Counted by commas, before it becomes a tree.
const FIELDS_MAX: usize = 4 * VALUES_MAX;

/// Why bytes are not results.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A record that cannot be read, or another document of sidestep.
    #[error(transparent)]
    Record(#[from] DecodeError),
    /// Nothing that sidestep knows.
    #[error(
        "not a known format: neither a record nor results; known are records of sidestep run, {}",
        known()
    )]
    Unknown,
    /// Known, and without results.
    #[error("this is {what}")]
    Elsewhere {
        /// What it is and what to give instead.
        what: &'static str,
    },
    /// More than any benchmark prints.
    #[error("it has {} of text, and at most {} are read; give a part of it", machine::Bytes(*.0 as u64), machine::Bytes(TEXT_BYTES_MAX as u64))]
    TooLarge(usize),
    /// More of them.
    #[error("it has more than {VALUES_MAX} values, or {FIELDS_MAX} fields; give a part of it")]
    TooMany,
    /// Not text.
    #[error("not UTF-8 text from byte {offset} on; export it again")]
    NotText { offset: usize },
    /// Broken JSON.
    #[error("broken JSON: {0}")]
    Json(#[from] JsonError),
    /// Broken XML.
    #[error("broken XML: {0}")]
    Xml(#[from] roxmltree::Error),
    /// A column or field is missing or not as it should be.
    #[error("{place}: {problem}")]
    Shape {
        place: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// Nothing in it.
    #[error("it holds no test with a value; nothing can be compared{why}")]
    Empty {
        /// What was left out, behind a semicolon; or empty.
        why: String,
    },
}

/// A text of results, with its values where it is JSON.
struct Source<'t> {
    text: &'t str,
    /// One as a rule, one a line where a program wrote them as they came; none of other texts.
    json: Vec<Value>,
}

impl Source<'_> {
    /// The first value; null where the text is no JSON.
    fn document(&self) -> &Value {
        self.json.first().unwrap_or(&Value::Null)
    }

    /// Whether the first line that is no note names all these columns of CSV.
    fn has_columns(&self, names: &[&str]) -> bool {
        let is_note = |line: &&str| line.trim().is_empty() || line.starts_with('#');
        let head =
            self.text.lines().find(|line| !is_note(line)).filter(|_| self.json.is_empty()).unwrap_or("");
        let has =
            |name: &&str| head.split(',').any(|one| one.trim().trim_matches('"').eq_ignore_ascii_case(name));
        names.iter().all(has)
    }
}

/// A format of results.
struct Format {
    /// Its word in documents.
    word: &'static str,
    /// Whether a text is of it, by what no other has.
    is: fn(&Source<'_>) -> bool,
    /// Reads its tests. Fails for what is wrong with the whole; a value that is odd costs only itself.
    read: fn(&Source<'_>, &mut Results) -> Result<(), ImportError>,
}

/// Every format that is read; the first that knows a text reads it.
const FORMATS: &[Format] = &[
    table::TABLE,
    hyperfine::HYPERFINE,
    phoronix::PHORONIX,
    phoronix::PHORONIX_EXPORT,
    google_benchmark::GOOGLE_BENCHMARK,
    pytest_benchmark::PYTEST_BENCHMARK,
    jmh::JMH,
    criterion::CRITERION,
    fio::FIO,
    perf_stat::PERF_STAT,
    go_bench::GO_BENCH,
];

/// The formats in a sentence.
fn known() -> String {
    let mut words: Vec<&str> = FORMATS.iter().map(|format| format.word).collect();
    words.dedup();
    words.join(", ")
}

/// Reads what may be compared; one file may hold several configurations, as Phoronix composites do. `name` is what the
/// user calls it.
///
/// # Errors
/// `ImportError` says what is wrong, where, and what would be right.
pub fn read(name: &str, bytes: &[u8]) -> Result<Vec<Configuration>, ImportError> {
    if bytes.starts_with(&ZSTD_MAGIC) {
        return Ok(vec![of_record(name, bytes)?]);
    }
    if let Some(what) = elsewhere::named(bytes) {
        return Err(ImportError::Elsewhere { what });
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ImportError::NotText { offset: error.valid_up_to() })?
        .trim_start_matches('\u{feff}');
    let text = fio::without_notes(text);
    let json = match text.trim_start().as_bytes().first() {
        None => return Err(ImportError::Empty { why: String::new() }),
        Some(b'{' | b'[') => {
            let words = odd_numbers::with_odd_numbers_quoted(text);
            let fields = outermost_fields(words.as_bytes())?;
            if let Some(command) = own_document(&fields) {
                return Err(DecodeError::Other { command }.into());
            }
            if fields.iter().any(|field| field == "schema") {
                return Ok(vec![of_record(name, text.as_bytes())?]);
            }
            if words.bytes().filter(|byte| *byte == b',').count() > FIELDS_MAX {
                return Err(ImportError::TooMany);
            }
            json_values(words.as_bytes())?
        }
        Some(_) if text.len() > TEXT_BYTES_MAX => return Err(ImportError::TooLarge(text.len())),
        Some(_) => Vec::new(),
    };
    let source = Source { text, json };
    let Some(format) = FORMATS.iter().find(|format| (format.is)(&source)) else {
        let what = elsewhere::named_text(text).ok_or(ImportError::Unknown)?;
        return Err(ImportError::Elsewhere { what });
    };
    let mut results = Results::default();
    (format.read)(&source, &mut results)?;
    drop(source);
    if results.has_too_many() {
        return Err(ImportError::TooMany);
    }
    let found = results.finish(name, SourceKind::Results(format.word));
    if found.iter().all(|one| one.tests.is_empty()) {
        let said = found.iter().flat_map(|one| &one.cautions).next();
        let why = said.map_or_else(String::new, |said| format!("; {said}"));
        return Err(ImportError::Empty { why });
    }
    Ok(found)
}

fn of_record(name: &str, bytes: &[u8]) -> Result<Configuration, ImportError> {
    let configuration = configuration_of_record(name, &record::decode(bytes)?);
    if configuration.tests.is_empty() {
        Err(ImportError::Empty { why: String::new() })
    } else {
        Ok(configuration)
    }
}

/// The items of a list; none of anything else.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The first of these fields that is text; empty without one.
fn text<'v>(value: &'v Value, fields: &[&str]) -> &'v str {
    fields.iter().find_map(|field| value[*field].as_str()).unwrap_or("")
}

/// A name with the parameters that it does not show.
fn with_parameters(name: &Value, parameters: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let all = parameters.as_object().into_iter().flatten();
    let hidden = all.filter(|(_, value)| !name.contains(&text(value)));
    let hidden: Vec<String> = hidden.map(|(key, value)| format!("{key}={}", text(value))).collect();
    if hidden.is_empty() { name.to_owned() } else { format!("{name} ({})", hidden.join(", ")) }
}

#[cfg(test)]
mod tests;
