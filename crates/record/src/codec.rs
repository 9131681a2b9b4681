//! Records to bytes and back: JSON, or JSON in zstd.

use std::borrow::Cow;
use std::io::Read;

use machine::Machine;

use crate::field::{FieldError, read_document};
use crate::json::{JsonError, bounded, own_document};
use crate::{Record, SCHEMA, SOCKETS_SCHEMA, Sockets};

/// First bytes of a zstd frame. RFC 8878, section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The most a record may unpack to: a full run of a 256-CPU machine stays under 100 MiB.
const UNPACKED_LIMIT_BYTES: u64 = 512 << 20;

/// No number in a record is larger: ten to the eighteenth is thirty years in nanoseconds, and ten thousand times the
/// bytes per second of any machine. Counts, sizes and seeds are whole numbers and have no such bound.
const LARGEST_NUMBER: f64 = 1e18;

/// Digits of that number, without an exponent; and the letters of `1e19`.
const LARGEST_NUMBER_DIGITS: usize = 19;
const SHORTEST_ABSURD: usize = 4;

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
    /// Not JSON, or cut off.
    #[error("not a sidestep record, or cut off: {0}")]
    Broken(#[from] JsonError),
    /// What another command of sidestep prints.
    #[error(
        "the JSON of sidestep {command}, not a record; give the record that sidestep run --record DIR writes"
    )]
    Other {
        /// The command, without the name of the program.
        command: &'static str,
    },
    /// JSON, but one field is not what this version knows: altered, or written by a version between two schemas.
    #[error("{path} cannot be read: {reason}; show it with the version that wrote it, or measure again")]
    Field {
        /// Where it stands: `memory.stream[3].scope`.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No schema number at the top.
    #[error("not a sidestep record: it has no \"schema\" number")]
    NoSchema,
    /// JSON with a schema number, but of another kind of document.
    #[error("a document of sidestep or of another program, but not a record: it names no machine")]
    NoMachine,
    /// Written by a later version.
    #[error("record has schema {found}, this sidestep reads up to {SCHEMA}; use a newer sidestep")]
    Newer {
        /// The number found.
        found: u64,
    },
    /// A record, but not of sockets.
    #[error("the record holds no measured sockets; measure them with sidestep sockets --record DIR")]
    NoSockets,
    /// The zstd frame is damaged or unpacks to more than any record.
    #[error("damaged zstd record: {0}")]
    Zstd(String),
}

impl From<FieldError> for DecodeError {
    fn from(FieldError { path, reason }: FieldError) -> Self {
        Self::Field { path, reason }
    }
}

/// Why a record is not written: nobody could read it again.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// JSON has no word for what it holds.
    #[error("the record is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It would not be read back: a number that is not finite, or one beyond any machine.
    #[error("the record could not be read again: {0}")]
    Unreadable(#[from] DecodeError),
    /// It is larger than what is read.
    #[error(
        "the record has {bytes} bytes, and at most {UNPACKED_LIMIT_BYTES} are read; narrow it with --only"
    )]
    TooLarge {
        /// Its size as JSON.
        bytes: usize,
    },
}

/// Turns a record into bytes that `decode` is known to read.
///
/// JSON has no NaN and no infinity: a field that may be absent is then written as absent, and any other is refused.
///
/// # Errors
/// `EncodeError` names the field that could not be read again.
pub fn encode(record: &Record, encoding: Encoding) -> Result<Vec<u8>, EncodeError> {
    let mut json = serde_json::to_vec(record)?;
    json.push(b'\n');
    if json.len() as u64 >= UNPACKED_LIMIT_BYTES {
        return Err(EncodeError::TooLarge { bytes: json.len() });
    }
    decode_json(&json)?;
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
    decode_json(&unpacked(bytes)?)
}

/// The JSON of a record, out of its zstd frame if it has one.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, DecodeError> {
    if !bytes.starts_with(&ZSTD_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
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
    Ok(Cow::Owned(json))
}

/// Measured sockets, and the machine that they are of where the document tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredSockets {
    /// The sockets.
    pub sockets: Sockets,
    /// The machine of a record.
    pub machine: Option<Machine>,
}

/// Reads the sockets of a record, or the document that `sidestep sockets --json` prints.
///
/// # Errors
/// `DecodeError` says what is wrong and what to do.
pub fn decode_sockets(bytes: &[u8]) -> Result<MeasuredSockets, DecodeError> {
    if !bytes.starts_with(&ZSTD_MAGIC) {
        let value = tree(bytes)?;
        // Only the document of sockets has them at its top.
        if value.get("subjects").is_some() {
            return Ok(MeasuredSockets { sockets: sockets_of(&value)?, machine: None });
        }
    }
    let record = decode(bytes)?;
    let sockets = record.sockets.ok_or(DecodeError::NoSockets)?;
    Ok(MeasuredSockets { sockets, machine: Some(record.machine) })
}

fn sockets_of(value: &serde_json::Value) -> Result<Sockets, DecodeError> {
    let found = value.get("schema").and_then(serde_json::Value::as_u64).ok_or(DecodeError::NoSchema)?;
    if found > u64::from(SOCKETS_SCHEMA) {
        return Err(DecodeError::Newer { found });
    }
    if let Some((path, number)) = absurd(value) {
        let reason = format!("{number} is more than any machine gives");
        return Err(DecodeError::Field { path: path.trim_start_matches('.').to_owned(), reason });
    }
    Ok(read_document(value)?)
}

/// As a rule from the text into its fields. What is doubtful goes through a tree of values, which tells what is wrong, or finds that all
/// is well.
fn decode_json(json: &[u8]) -> Result<Record, DecodeError> {
    bounded(json)?;
    match serde_json::from_slice::<Record>(json) {
        Ok(mut record)
            if record.schema <= SCHEMA && record.unknown.is_empty() && !has_absurd_number(json) =>
        {
            record.withhold();
            Ok(record)
        }
        _ => decode_value(&tree(json)?),
    }
}

/// The one value that a document is.
fn tree(json: &[u8]) -> Result<serde_json::Value, DecodeError> {
    bounded(json)?;
    Ok(serde_json::from_slice(json).map_err(JsonError::from)?)
}

fn decode_value(value: &serde_json::Value) -> Result<Record, DecodeError> {
    let fields: Vec<&String> = value.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
    if let Some(command) = own_document(&fields) {
        return Err(DecodeError::Other { command });
    }
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        None => Err(DecodeError::NoSchema),
        Some(found) if found > u64::from(SCHEMA) => Err(DecodeError::Newer { found }),
        Some(_) => {
            let mut record: Record = read_document(value)?;
            // Every field of a record may be absent: a document of another kind would be an empty record.
            let names_machine = ["machine", "provenance"].iter().any(|field| value.get(field).is_some());
            if !record.unknown.is_empty() && !names_machine {
                return Err(DecodeError::NoMachine);
            }
            // Fields of later versions are not judged: nobody here knows what they count.
            let known = value.as_object().into_iter().flatten();
            let mut known = known.filter(|(name, _)| !record.unknown.contains_key(*name));
            let absurd =
                known.find_map(|(name, field)| absurd(field).map(|(path, number)| (name, path, number)));
            if let Some((name, path, number)) = absurd {
                return Err(DecodeError::Field {
                    path: format!("{name}{path}"),
                    reason: format!("{number} is more than any machine gives"),
                });
            }
            record.withhold();
            Ok(record)
        }
    }
}

/// Whether a text of JSON may hold a number that no machine gives: one that it does hold is always seen.
pub(crate) fn has_absurd_number(json: &[u8]) -> bool {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let is_absurd = |word: &[u8]| {
        let has_exponent = || word.iter().any(|byte| matches!(byte, b'e' | b'E'));
        (word.len() >= LARGEST_NUMBER_DIGITS || (word.len() >= SHORTEST_ABSURD && has_exponent()))
            && std::str::from_utf8(word).is_ok_and(|text| {
                text.parse::<u64>().is_err()
                    && text.parse::<f64>().is_ok_and(|value| value.abs() > LARGEST_NUMBER)
            })
    };
    json.split(|byte| !is_of_number(byte)).any(is_absurd)
}

/// The first number that no machine gives, with the path to it: a typing error or a broken file, and every table that it
/// reached would be unreadable.
fn absurd(value: &serde_json::Value) -> Option<(String, &serde_json::Number)> {
    use serde_json::Value;
    match value {
        Value::Number(number) => {
            let is_absurd =
                number.is_f64() && number.as_f64().is_none_or(|value| value.abs() > LARGEST_NUMBER);
            is_absurd.then(|| (String::new(), number))
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            absurd(item).map(|(path, number)| (format!("[{index}]{path}"), number))
        }),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, field)| absurd(field).map(|(path, number)| (format!(".{name}{path}"), number))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use serde_json::json;

    use super::*;
    use crate::{ClockRead, Guards, Level, Quality, RawSeries, Spread, WalkPoint};
    use machine::{Bytes, CpuId, Hertz};
    use stats::{Interval, Mode};

    /// A record with a number in every shape: plain, optional, in an interval, in a mode, in a raw window.
    fn record_with(ns: f64, optional: Option<f64>, interval: Interval, window: f32) -> Record {
        let mode = Mode { share: 0.5, value: ns };
        let spread = Spread { interval, modes: vec![mode; 2], raw: Some(0), ..Spread::default() };
        let mut record = Record { schema: SCHEMA, ..Record::default() };
        record.guards = Guards { core_hz: optional.map(|hz| [Hertz(hz); 2]), ..Guards::default() };
        record.clocks.push(ClockRead {
            name: "rdtsc".to_owned(),
            cpu: CpuId(0),
            ns,
            counter_cycles: optional,
            core_cycles: None,
            ordered: false,
            spread: spread.clone(),
            ..ClockRead::default()
        });
        record.memory.walks.push(WalkPoint {
            cpu: CpuId(1),
            pages: u64::MAX,
            page_bytes: Bytes(u64::MAX),
            spread_ns: ns,
            packed_ns: ns,
            delta_ns: ns,
            spread,
        });
        record.levels.caches.push(Level {
            name: "L1".to_owned(),
            size_bytes: None,
            size_interval: Some(interval),
            ns,
            ..Level::default()
        });
        record.push_raw(RawSeries {
            name: "a\u{0}\u{202e}\"".to_owned(),
            visits: vec![vec![window, 1.0], vec![]],
            ..RawSeries::default()
        });
        record.unknown.insert("later".to_owned(), json!({"a": [1e300, null]}));
        record
    }

    fn decoded(change: impl FnOnce(&mut serde_json::Value)) -> Result<Record, DecodeError> {
        let interval = Interval { low: 1.0, high: 2.0 };
        let mut value = serde_json::to_value(record_with(1.5, Some(3e9), interval, 1.0)).expect("finite");
        change(&mut value);
        decode(value.to_string().as_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_was_encoded_can_be_decoded_and_finite_numbers_are_never_refused(
            ns in proptest::num::f64::ANY,
            optional in proptest::option::of(proptest::num::f64::ANY),
            low in -1e18_f64..1e18,
            window in proptest::num::f32::ANY,
            zstd: bool,
        ) {
            let record = record_with(ns, optional, Interval { low, high: ns }, window);
            let numbers = [ns, optional.unwrap_or(0.0), f64::from(window)];
            match encode(&record, if zstd { Encoding::Zstd } else { Encoding::Json }) {
                Ok(bytes) => {
                    let read = decode(&bytes);
                    prop_assert!(read.is_ok(), "{read:?}");
                }
                Err(error) => {
                    let text = error.to_string();
                    prop_assert!(numbers.iter().any(|n| !n.is_finite() || n.abs() > LARGEST_NUMBER), "{text}");
                    prop_assert!(!text.contains('\n') && text.contains("the record could not be read again"));
                }
            }
        }
    }

    #[test]
    fn a_finite_record_comes_back_as_it_was() {
        let record = record_with(1.25, Some(2.5), Interval { low: 1.0, high: 1.5 }, 0.5);
        for encoding in [Encoding::Json, Encoding::Zstd] {
            let bytes = encode(&record, encoding).expect("finite numbers");
            assert_eq!(decode(&bytes).expect("just written"), record);
        }
    }

    #[test]
    fn a_number_that_is_not_finite_is_refused_by_its_path() {
        let fine = Interval { low: 1.0, high: 2.0 };
        let error = |record: &Record| encode(record, Encoding::Json).expect_err("not finite").to_string();
        assert!(error(&record_with(f64::NAN, None, fine, 1.0)).contains("clocks[0].ns"));
        assert!(error(&record_with(1.0, None, fine, f32::INFINITY)).contains("raw[0].visits[0][0]"));
        let half_absent = error(&record_with(1.0, Some(f64::NAN), fine, 1.0));
        assert!(half_absent.contains("guards.core_hz[0]"), "{half_absent}");
        let mut absent = record_with(1.0, None, fine, 1.0);
        absent.guards.steal_share = Some(f64::NAN);
        let read = decode(&encode(&absent, Encoding::Json).expect("it may be absent"));
        assert_eq!(read.expect("just written").guards.steal_share, None);
    }

    #[test]
    fn an_unknown_variant_is_reported_in_one_line_that_names_the_field() {
        for (pointer, word, expected) in [
            ("/levels/caches/0/name", json!(7), "levels.caches[0].name"),
            ("/machine/topology/caches", json!([{"level": 1, "kind": "spherical"}]), "caches[0].kind"),
            ("/findings", json!([{"id": "a", "severity": "grave"}]), "findings[0].severity"),
            ("/plan/entries", json!([{"outcome": {"postponed": "x"}}]), "plan.entries[0].outcome"),
            ("/clocks/0/quality", json!("shaky"), "shaky"),
        ] {
            let error = decoded(|value| {
                *value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = word;
            });
            let text = error.expect_err("an unknown word").to_string();
            assert!(text.contains(expected) && !text.contains('\n'), "{pointer}: {text}");
        }
    }

    #[test]
    fn unknown_fields_are_kept_and_a_newer_schema_is_one_line() {
        let kept = decoded(|value| value["tomorrow"] = json!(1e300)).expect("a field more");
        assert_eq!(kept.unknown["tomorrow"], json!(1e300));
        let newer = decoded(|value| value["schema"] = json!(SCHEMA + 1)).expect_err("a later schema");
        assert!(matches!(newer, DecodeError::Newer { .. }) && newer.to_string().contains("newer sidestep"));
    }

    #[test]
    fn a_number_that_no_machine_gives_is_refused_by_its_path() {
        let error = decoded(|value| value["memory"]["walks"][0]["delta_ns"] = json!(-1e300));
        let text = error.expect_err("thirty orders too much").to_string();
        assert!(text.starts_with("memory.walks[0].delta_ns cannot be read: -1e+300"), "{text}");
        let quality = decoded(|value| value["clocks"][0]["quality"] = json!("wide")).expect("a known word");
        assert_eq!(quality.clocks[0].spread.quality, Quality::Wide);
    }

    #[test]
    fn sockets_are_read_from_their_document_and_from_a_record() {
        let sockets = Sockets { schema: SOCKETS_SCHEMA, elapsed_s: 1.5, ..Sockets::default() };
        let document = serde_json::to_vec(&sockets).expect("JSON");
        let read = decode_sockets(&document).expect("a document");
        assert_eq!(read, MeasuredSockets { sockets: sockets.clone(), machine: None });
        let record = Record { schema: SCHEMA, sockets: Some(sockets.clone()), ..Record::default() };
        for encoding in [Encoding::Json, Encoding::Zstd] {
            let read = decode_sockets(&encode(&record, encoding).expect("encodable")).expect("a record");
            assert_eq!((read.sockets, read.machine), (sockets.clone(), Some(record.machine.clone())));
        }
        let without = Record { schema: SCHEMA, ..Record::default() };
        let described = |bytes: &[u8]| decode_sockets(bytes).expect_err("none").to_string();
        assert!(
            described(&encode(&without, Encoding::Json).expect("encodable")).contains("no measured sockets")
        );
        assert!(described(br#"{"schema": 99, "subjects": []}"#).contains("newer"));
        assert!(described(br#"{"schema": 1, "subjects": [{"cpu": -1}]}"#).contains("subjects[0]"));
        assert!(described(br#"{"schema": 1, "subjects": [], "elapsed_s": 1e300}"#).contains("elapsed_s"));
        assert!(described(b"").contains("not a sidestep record"));
    }
}
