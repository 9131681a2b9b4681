//! What an experiment is about to change, written before it changes anything: enough for anybody to put it back.
//!
//! The file is a first line with a checksum and a length, and JSON that a person can read. A file that is cut, mixed
//! up or edited does not pass for a journal.

use std::io;

use host::{Disk, Target};
use serde::{Deserialize, Serialize};

use crate::affinity::Affinities;

/// Its name in the state folder.
pub const JOURNAL_NAME: &str = "journal.json";
/// Its name until it is whole and synced.
const NEW_NAME: &str = "journal.json.new";
/// What the first line begins with.
const MAGIC: &str = "sidestep journal 1";

/// Who runs the experiment: enough to know whether he still does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The boot in which it runs (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: String,
    /// The process.
    pub pid: u32,
    /// When the process started, in clock ticks since boot.
    pub start_ticks: u64,
}

/// One thing that is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Where.
    pub target: Target,
    /// The canonical value before.
    pub old: String,
    /// Every value that the experiment may write; any other is somebody else's.
    pub ours: Vec<String>,
}

/// The whole journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// Who runs it.
    pub owner: Owner,
    /// What is switched, in the user's words.
    pub label: String,
    /// UTC time of the first write.
    pub since: String,
    /// True if the user asked for the change to stay until it is reverted: then the owner need not live.
    pub kept: bool,
    /// What is changed, in the order of writing.
    pub entries: Vec<Entry>,
    /// What was bound to CPUs, if any of them can go away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinities: Option<Affinities>,
}

/// Why bytes are no journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal is damaged ({reason})")]
pub struct Damaged {
    /// What is wrong.
    pub reason: String,
}

/// The bytes of a journal.
pub fn encode(journal: &Journal) -> Vec<u8> {
    let body = serde_json::to_string_pretty(journal).expect("plain strings and numbers always encode");
    format!("{MAGIC} {:016x} {}\n{body}\n", checksum(body.as_bytes()), body.len()).into_bytes()
}

/// The journal in some bytes.
///
/// # Errors
/// `Damaged`, with what is wrong.
pub fn decode(bytes: &[u8]) -> Result<Journal, Damaged> {
    let damaged = |reason: &str| Damaged { reason: reason.to_owned() };
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is not text"))?;
    let (first, body) = text.split_once('\n').ok_or_else(|| damaged("it has no second line"))?;
    let rest = first.strip_prefix(MAGIC).ok_or_else(|| damaged("the first line is not a journal's"))?;
    let mut words = rest.split_whitespace();
    let sum = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
    let length = words.next().and_then(|word| word.parse::<usize>().ok());
    let (Some(sum), Some(length)) = (sum, length) else { return Err(damaged("the first line is cut")) };
    let body = body.strip_suffix('\n').unwrap_or(body);
    if body.len() != length {
        return Err(damaged("it is cut or longer than it was"));
    }
    if checksum(body.as_bytes()) != sum {
        return Err(damaged("its checksum does not fit"));
    }
    serde_json::from_str(body).map_err(|error| damaged(&format!("unknown contents: {error}")))
}

/// FNV-1a, 64 bits (draft-eastlake-fnv): against accidents, not against people, who have to be root anyway.
fn checksum(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(OFFSET, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// Writes the journal so that no crash and no power cut loses it once this returns.
///
/// # Errors
/// What the disk said.
pub fn store(disk: &mut impl Disk, journal: &Journal) -> io::Result<()> {
    disk.write(NEW_NAME, &encode(journal))?;
    disk.sync(NEW_NAME)?;
    disk.rename(NEW_NAME, JOURNAL_NAME)?;
    disk.sync_names()
}

/// The journal, if there is one.
///
/// # Errors
/// What the disk said.
pub fn load(disk: &mut impl Disk) -> io::Result<Option<Result<Journal, Damaged>>> {
    Ok(disk.read(JOURNAL_NAME)?.map(|bytes| decode(&bytes)))
}

/// Takes the journal away: everything is put back.
///
/// # Errors
/// What the disk said.
pub fn clear(disk: &mut impl Disk) -> io::Result<()> {
    disk.remove(JOURNAL_NAME)?;
    disk.sync_names()
}

/// Keeps a damaged journal under another name, and tells that name.
///
/// # Errors
/// What the disk said.
pub fn set_aside(disk: &mut impl Disk) -> io::Result<String> {
    /// More damaged journals than this on one machine are another problem.
    const TRIES: u32 = 1000;
    for number in 1..TRIES {
        let name = format!("{JOURNAL_NAME}.damaged-{number}");
        if disk.read(&name)?.is_none() {
            disk.rename(JOURNAL_NAME, &name)?;
            disk.sync_names()?;
            return Ok(name);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
pub(crate) fn example() -> Journal {
    let entry = |path: &str, old: &str, ours: &[&str]| Entry {
        target: Target::File { path: path.to_owned() },
        old: old.to_owned(),
        ours: ours.iter().map(|&value| value.to_owned()).collect(),
    };
    Journal {
        owner: Owner { boot_id: "boot".to_owned(), pid: 7, start_ticks: 9 },
        label: "thp-system=never".to_owned(),
        since: "2026-01-01T00:00:00Z".to_owned(),
        kept: false,
        entries: vec![entry("sys/a", "madvise", &["never", "always"]), entry("proc/sys/b", "1", &["0"])],
        affinities: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_journal_is_read_back_as_it_was() {
        assert_eq!(decode(&encode(&example())), Ok(example()));
    }

    proptest! {
        #[test]
        fn mutated_bytes_never_panic_and_never_pass_for_another_journal(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
        ) {
            let mut bytes = encode(&example());
            for (place, byte) in changes {
                let index = place.index(bytes.len());
                bytes[index] = byte;
            }
            if is_cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(journal) = decode(&bytes) {
                prop_assert_eq!(journal, example());
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(decode(&bytes).is_err());
        }
    }
}
