//! Records to bytes and back: JSON, or JSON in zstd.

use std::io::Read;

use crate::{Record, SCHEMA};

/// First bytes of a zstd frame. RFC 8878, section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The most a record may unpack to: a full run of a 256-CPU machine stays under 100 MiB.
const UNPACKED_LIMIT_BYTES: u64 = 512 << 20;

/// What a broken zstd frame is called, whichever part of it is broken.
const CUT_OFF: &str = "it is cut off or altered; copy it again";

/// How a record is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Compact JSON, one line.
    #[default]
    Json,
    /// JSON inside a zstd frame.
    Zstd,
}

/// Why bytes are not a record.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON, cut off, or not shaped like a record.
    #[error("not a sidestep record, or cut off: {0}")]
    Broken(#[from] serde_json::Error),
    /// No schema number at the top.
    #[error("not a sidestep record: it has no \"schema\" number")]
    NoSchema,
    /// Written by a later version.
    #[error("record has schema {found}, this sidestep reads up to {SCHEMA}; use a newer sidestep")]
    Newer {
        /// The number found.
        found: u64,
    },
    /// The zstd frame is damaged or unpacks to more than any record.
    #[error("damaged zstd record: {0}")]
    Zstd(String),
}

/// Turns a record into bytes.
///
/// # Errors
/// Only if a number cannot be written as JSON.
pub fn encode(record: &Record, encoding: Encoding) -> Result<Vec<u8>, serde_json::Error> {
    let mut json = serde_json::to_vec(record)?;
    json.push(b'\n');
    Ok(match encoding {
        Encoding::Json => json,
        Encoding::Zstd => {
            ruzstd::encoding::compress_to_vec(json.as_slice(), ruzstd::encoding::CompressionLevel::Fastest)
        }
    })
}

/// Reads a record of this or an earlier schema; unknown fields are kept at the top level.
///
/// # Errors
/// `DecodeError` says what is wrong and what to do.
pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
    if !bytes.starts_with(&ZSTD_MAGIC) {
        return decode_json(bytes);
    }
    let decoder =
        ruzstd::decoding::StreamingDecoder::new(bytes).map_err(|_| DecodeError::Zstd(CUT_OFF.to_owned()))?;
    let mut json = Vec::new();
    decoder
        .take(UNPACKED_LIMIT_BYTES)
        .read_to_end(&mut json)
        .map_err(|_| DecodeError::Zstd(CUT_OFF.to_owned()))?;
    if json.len() as u64 >= UNPACKED_LIMIT_BYTES {
        return Err(DecodeError::Zstd("unpacks to more than 512 MiB".to_owned()));
    }
    decode_json(&json)
}

fn decode_json(json: &[u8]) -> Result<Record, DecodeError> {
    let value: serde_json::Value = serde_json::from_slice(json)?;
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        None => Err(DecodeError::NoSchema),
        Some(found) if found > u64::from(SCHEMA) => Err(DecodeError::Newer { found }),
        Some(_) => Ok(serde_json::from_value(value)?),
    }
}

/// The JSON Schema of a record, generated from the types.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Record).to_value()
}
