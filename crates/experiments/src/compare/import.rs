//! Results from elsewhere: bytes in, configurations out. What a file is, is seen from its content, never from its name.

mod csv;
mod hyperfine;
mod phoronix;
mod test_list;

use record::DecodeError;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Configuration, configuration_of_record};

/// First bytes of a zstd frame, in which records may be packed. RFC 8878, section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why bytes are not results.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A record that cannot be read.
    #[error(transparent)]
    Record(#[from] DecodeError),
    /// Nothing that sidestep knows.
    #[error(
        "neither a record nor results: expected a record of sidestep run, CSV with the columns name, unit, better, \
         group and values, hyperfine JSON or Phoronix XML"
    )]
    Unknown,
    /// Not text.
    #[error("not UTF-8 text from byte {offset} on; export it again")]
    NotText { offset: usize },
    /// Broken JSON.
    #[error("broken JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Broken XML.
    #[error("broken XML: {0}")]
    Xml(#[from] roxmltree::Error),
    /// The wrong document of sidestep itself.
    #[error("{what}, not a record; give the records or results that it was made from")]
    Derived { what: &'static str },
    /// A column or field is missing or not as it should be.
    #[error("{place}: {problem}")]
    Shape {
        place: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A value that no measurement gives.
    #[error("{place}: the value {value} is no positive number; correct it or leave the test out")]
    Value { place: String, value: String },
    /// The same test twice, with different units or directions.
    #[error(
        "{place}: {test} stands here with another unit, direction or kind than before; name it differently"
    )]
    Conflict { place: String, test: String },
    /// Nothing in it.
    #[error("it holds no test with a value; nothing can be compared")]
    Empty,
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
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ImportError::NotText { offset: error.valid_up_to() })?
        .trim_start_matches('\u{feff}');
    let found = match text.trim_start().as_bytes().first() {
        None => return Err(ImportError::Empty),
        Some(b'<') => phoronix::read(text)?,
        Some(b'{') => return json_document(name, text),
        Some(_) => vec![csv::read(name, text)?],
    };
    if found.iter().all(|one| one.tests.is_empty()) { Err(ImportError::Empty) } else { Ok(found) }
}

fn of_record(name: &str, bytes: &[u8]) -> Result<Configuration, ImportError> {
    let configuration = configuration_of_record(name, &record::decode(bytes)?);
    if configuration.tests.is_empty() { Err(ImportError::Empty) } else { Ok(configuration) }
}

/// Which JSON it is: each kind has a field that no other has.
fn json_document(name: &str, text: &str) -> Result<Vec<Configuration>, ImportError> {
    /// The outermost fields; whether they are there is all that counts.
    #[derive(Deserialize)]
    struct Fields {
        schema: Option<IgnoredAny>,
        rows: Option<IgnoredAny>,
        averages: Option<IgnoredAny>,
        view: Option<IgnoredAny>,
        results: Option<IgnoredAny>,
    }
    let fields: Fields = serde_json::from_str(text)?;
    let found = if fields.rows.is_some() && fields.averages.is_some() {
        return Err(ImportError::Derived { what: "a comparison" });
    } else if fields.schema.is_some() && fields.view.is_some() {
        return Err(ImportError::Derived { what: "the description of a machine" });
    } else if fields.schema.is_some() {
        of_record(name, text.as_bytes())?
    } else if fields.results.is_some() {
        hyperfine::read(name, text)?
    } else {
        return Err(ImportError::Unknown);
    };
    if found.tests.is_empty() { Err(ImportError::Empty) } else { Ok(vec![found]) }
}

#[cfg(test)]
mod tests;
