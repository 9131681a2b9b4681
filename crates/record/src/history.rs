//! An entry of the history: what a list and a trend need of one check-up, stored behind its record in the same file.
//!
//! The file is the record in a zstd frame, then the entry as JSON in a skippable frame (RFC 8878, section 3.1.2), which every
//! reader of zstd passes over: `sidestep show` and `zstd -d` open the record, and a list reads the last kilobytes alone.

use std::collections::BTreeMap;

use machine::Bytes;
use serde::{Deserialize, Serialize};
use stats::{ChangePoint, RowClass};

use crate::{Better, FactDifference};

/// Version of the entry and of the documents made of it. From 2 on a row has the class that a comparison gives it.
pub const HISTORY_SCHEMA: u32 = 2;
/// The first of sixteen numbers that begin a skippable frame. RFC 8878, section 3.1.2.
const SKIPPABLE_MAGIC: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];
/// The last bytes of a file with an entry.
const END_MARK: [u8; 4] = *b"SSH1";
/// The length and the mark behind the entry.
const FOOTER_BYTES: usize = 8;
/// An entry is smaller: some hundred rows and facts of under a hundred bytes each.
pub const ENTRY_BYTES_MAX: usize = 256 << 10;

/// What tells one machine from another, without any serial number.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Fingerprint {
    /// Name, vendor, family, model and stepping of the CPU.
    pub cpu: String,
    /// CPUs, those that are switched off included.
    pub cpus: usize,
    /// The hypervisor, if one shows itself.
    pub hypervisor: Option<String>,
    /// Memory in the machine.
    pub memory_bytes: Option<Bytes>,
}

/// One quantity of a check-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryRow {
    /// Rows of one class move together.
    pub class: RowClass,
    /// Unit of the value.
    pub unit: String,
    /// Which direction is the good one.
    pub better: Better,
    /// Its value, above zero.
    pub value: f64,
}

impl HistoryRow {
    /// The logarithm of what it costs; `None` for a value that has none.
    pub fn cost(&self) -> Option<f64> {
        Some(self.better.cost(self.value.ln())).filter(|cost| cost.is_finite())
    }
}

/// One check-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HistoryEntry {
    /// Version of the entry.
    pub schema: u32,
    /// When it began, UTC, RFC 3339.
    pub started_utc: String,
    /// The machine.
    pub fingerprint: Fingerprint,
    /// What was planned: probes that ran and the budget, so that only like runs are compared.
    pub plan: String,
    /// Findings that are warnings.
    pub warnings: usize,
    /// Findings that are inconclusive.
    pub inconclusive: usize,
    /// What made the numbers doubtful, one line each.
    pub doubts: Vec<String>,
    /// Share of all CPU time that other processes used, 0 to 1.
    pub others_share: Option<f64>,
    /// Share of CPU time that the hypervisor gave to others, 0 to 1.
    pub steal_share: Option<f64>,
    /// Share of windows that were set aside, 0 to 1; `None` without windows.
    pub dropped_share: Option<f64>,
    /// Why the run stopped early, if it did.
    pub partial: Option<String>,
    /// What is known of platform and run.
    pub facts: BTreeMap<String, String>,
    /// The quantities by name.
    pub rows: BTreeMap<String, HistoryRow>,
}

/// Why bytes hold no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Cut off, or not of sidestep.
    #[error("no entry of a history, or cut off")]
    NoEntry,
    /// Written by a later version.
    #[error("written by a newer sidestep")]
    Newer,
    /// Not what this version knows.
    #[error("the entry cannot be read: {0}")]
    Broken(String),
}

/// A record, already encoded, with its entry behind it.
///
/// # Errors
/// `Broken` for an entry that JSON cannot hold, or that is too large.
pub fn encode_entry(mut record: Vec<u8>, entry: &HistoryEntry) -> Result<Vec<u8>, EntryError> {
    let json = serde_json::to_vec(entry).map_err(|error| EntryError::Broken(error.to_string()))?;
    let length = u32::try_from(json.len()).ok().filter(|_| json.len() + FOOTER_BYTES <= ENTRY_BYTES_MAX);
    let length = length.ok_or_else(|| EntryError::Broken(format!("{} bytes", json.len())))?;
    record.extend(SKIPPABLE_MAGIC);
    record.extend((length + FOOTER_BYTES as u32).to_le_bytes());
    record.extend(json);
    record.extend(length.to_le_bytes());
    record.extend(END_MARK);
    Ok(record)
}

/// What every version of an entry has.
#[derive(Deserialize)]
struct Version {
    schema: u32,
}

/// The entry at the end of a file, from its last bytes: [`ENTRY_BYTES_MAX`] of them, or all.
///
/// # Errors
/// `EntryError` says why there is none.
pub fn decode_entry(tail: &[u8]) -> Result<HistoryEntry, EntryError> {
    let rest = tail.strip_suffix(&END_MARK).ok_or(EntryError::NoEntry)?;
    let (rest, length) = rest.split_last_chunk::<4>().ok_or(EntryError::NoEntry)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| EntryError::NoEntry)?;
    let start = rest.len().checked_sub(length).ok_or(EntryError::NoEntry)?;
    let json = &rest[start..];
    let broken = |error: serde_json::Error| EntryError::Broken(error.to_string());
    // The version alone first: words of another one would be called unknown.
    match serde_json::from_slice::<Version>(json).map_err(broken)?.schema {
        HISTORY_SCHEMA => serde_json::from_slice(json).map_err(broken),
        0..HISTORY_SCHEMA => Err(EntryError::Broken("written by an older sidestep".to_owned())),
        _ => Err(EntryError::Newer),
    }
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryLine {
    /// Name of the file in the history's folder; `sidestep show` opens it.
    pub file: String,
    /// When the run began.
    pub started_utc: String,
    /// Number of its machine in the document's list, from 0.
    pub machine: usize,
    /// The first digits of the boot's name.
    pub boot: Option<String>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The microcode.
    pub microcode: Option<String>,
    /// Findings that are warnings.
    pub warnings: usize,
    /// Findings that are inconclusive.
    pub inconclusive: usize,
    /// What made the numbers doubtful, one line each.
    pub doubts: Vec<String>,
    /// Why the run stopped early, if it did.
    pub partial: Option<String>,
}

/// A place where a row changed its level, and what else changed there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryChange {
    /// The first run of the new level.
    pub started_utc: String,
    /// Levels before and after, as logarithms, and the p of Student's test between them.
    pub point: ChangePoint,
    /// New over old, in percent.
    pub percent: f64,
    /// Facts that differ between the last run before and the first after: a coincidence in time, not a proof.
    pub facts: Vec<FactDifference>,
}

/// One row over the runs of one machine with one plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryTrend {
    /// The row.
    pub row: String,
    /// Its class.
    pub class: RowClass,
    /// Unit of the values.
    pub unit: String,
    /// Which direction is the good one.
    pub better: Better,
    /// When each run began.
    pub started_utc: Vec<String>,
    /// The values in the same order.
    pub values: Vec<f64>,
    /// Median of the slopes between all runs, in percent for a day (Theil and Sen); `None` for less than an hour.
    pub percent_per_day: Option<f64>,
    /// Where it changed.
    pub changes: Vec<HistoryChange>,
}

/// What `sidestep history` found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryListing {
    /// Version of the document.
    pub schema: u32,
    /// The machines that these entries are of; the first is this one.
    pub machines: Vec<Fingerprint>,
    /// The entries, oldest first.
    pub entries: Vec<HistoryLine>,
    /// Files that are no entry, one line each.
    pub skipped: Vec<String>,
    /// Trends, where asked for.
    pub trends: Vec<HistoryTrend>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Encoding, Record, SCHEMA, decode, encode};

    fn entry(name: &str, value: f64) -> HistoryEntry {
        let class = RowClass::MemoryLatency;
        let row = HistoryRow { class, unit: "ns".to_owned(), better: Better::Lower, value };
        HistoryEntry {
            schema: HISTORY_SCHEMA,
            started_utc: name.to_owned(),
            rows: [(name.to_owned(), row)].into(),
            ..HistoryEntry::default()
        }
    }

    #[test]
    fn the_record_opens_as_before_and_the_entry_from_the_last_bytes() {
        let record = Record { schema: SCHEMA, elapsed_s: 1.5, ..Record::default() };
        let alone = encode(&record, Encoding::Zstd).expect("encodable");
        let both = encode_entry(alone.clone(), &entry("a", 1.0)).expect("small");
        assert_eq!(decode(&both).expect("a record"), record);
        assert_eq!(decode_entry(&both[alone.len()..]), Ok(entry("a", 1.0)));
        assert_eq!(decode_entry(&alone), Err(EntryError::NoEntry));
        let newer = HistoryEntry { schema: HISTORY_SCHEMA + 1, ..entry("a", 1.0) };
        assert_eq!(decode_entry(&encode_entry(alone, &newer).expect("small")), Err(EntryError::Newer));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_entry_or_an_error(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), ours: bool, length in 0_u32..400) {
            if ours {
                bytes.extend(length.to_le_bytes());
                bytes.extend(END_MARK);
            }
            // That it returns is what is held.
            let _ = decode_entry(&bytes);
        }

        #[test]
        fn a_file_that_is_cut_anywhere_holds_no_entry(name in ".{0,20}", value in 1_u32..1_000_000, cut in 1_usize..60) {
            let whole = encode_entry(Vec::new(), &entry(&name, f64::from(value))).expect("small");
            prop_assert_eq!(decode_entry(&whole).expect("whole"), entry(&name, f64::from(value)));
            prop_assert!(decode_entry(&whole[..whole.len() - cut.min(whole.len())]).is_err());
        }
    }
}
