//! The folder of the history: one file for each check-up, whole or absent, judged like every file that is trusted.

use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context;
use experiments::history::{BOUNDS, FileName, entry, to_prune};
use host::TrustedFolder;
use host::live::is_running;
use host::trusted_folder::UNFINISHED;
use record::{
    ENTRY_BYTES_MAX, Encoding, EntryError, HistoryEntry, Record, decode, decode_entry, encode, encode_entry,
};
use toggles::Place;

use crate::outcome::unusable;

/// Nearly every entry fits; those that do not are read again.
const TAIL_BYTES: usize = 32 << 10;

/// A history on disk.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
}

/// What lies in it.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Entries with the names of their files, oldest first.
    pub(crate) entries: Vec<(String, HistoryEntry)>,
    /// Files that are none, one line each.
    pub(crate) skipped: Vec<String>,
}

impl Store {
    /// That of this user, or of root.
    pub(crate) fn of_user() -> Self {
        Self { path: Place::of_user().state.join("history") }
    }

    /// That in another folder.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an entry, then takes away what there is no more room for.
    ///
    /// # Errors
    /// A folder that cannot be used or written.
    pub(crate) fn append(&self, record: &Record) -> anyhow::Result<()> {
        let provenance = &record.provenance;
        let name = FileName::text(&provenance.started_utc, provenance.boot_id.as_deref(), process::id())
            .with_context(|| format!("{} is no time; set the clock", provenance.started_utc))?;
        let record = Record { raw: Vec::new(), ..record.clone() };
        let bytes = encode_entry(encode(&record, Encoding::Zstd)?, &entry(&record))?;
        let folder = TrustedFolder::open_or_make(&self.path).map_err(|why| unusable(&self.path, why))?;
        folder.replace(&name, &bytes).map_err(|why| unusable(&self.path, why))?;
        prune(&folder, &name);
        Ok(())
    }

    /// All entries. A history that nobody has begun is empty.
    ///
    /// # Errors
    /// A folder that cannot be used.
    pub(crate) fn read(&self) -> anyhow::Result<Entries> {
        let folder = match TrustedFolder::open(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Entries::default()),
            opened => opened.map_err(|why| unusable(&self.path, why))?,
        };
        let mut found = Entries::default();
        let files = folder.files().map_err(|why| unusable(&self.path, why))?;
        for (name, _) in files.into_iter().filter(|(name, _)| !name.contains(UNFINISHED)) {
            match FileName::parse(&name)
                .ok_or_else(|| EntryError::NoEntry.to_string())
                .and_then(|_| read(&folder, &name))
            {
                Ok(entry) => found.entries.push((name, entry)),
                Err(why) => found.skipped.push(format!("{name}: {why}")),
            }
        }
        Ok(found)
    }

    /// The record of one of its files.
    ///
    /// # Errors
    /// A folder or file that cannot be used.
    pub(crate) fn record(&self, name: &str) -> anyhow::Result<Record> {
        let folder = TrustedFolder::open(&self.path).map_err(|why| unusable(&self.path, why))?;
        let bytes = folder.read(name)?.with_context(|| format!("{name} is gone"))?;
        Ok(decode(&bytes)?)
    }
}

fn read(folder: &TrustedFolder, name: &str) -> Result<HistoryEntry, String> {
    let tail = |bytes_max: usize| match folder.read_tail(name, bytes_max) {
        Ok(tail) => Ok(tail.unwrap_or_default()),
        Err(why) => Err(why.to_string()),
    };
    let short = tail(TAIL_BYTES)?;
    decode_entry(&short)
        .or_else(|why| {
            if short.len() == TAIL_BYTES {
                decode_entry(&tail(ENTRY_BYTES_MAX).unwrap_or_default())
            } else {
                Err(why)
            }
        })
        .map_err(|why| why.to_string())
}

/// True of a file that a process began which is gone.
fn is_deserted(name: &str) -> bool {
    let writer = name.split_once(UNFINISHED).and_then(|(_, process)| process.parse::<u32>().ok());
    writer.is_some_and(|writer| !is_running(writer))
}

/// What cannot be removed stays until the next time: the entry is written, and another run may have been faster.
fn prune(folder: &TrustedFolder, written: &str) {
    let files = folder.files().unwrap_or_default();
    let deserted = files.iter().map(|(name, _)| name).filter(|name| is_deserted(name)).cloned();
    for name in deserted.chain(to_prune(&files, written, BOUNDS)) {
        let _ = folder.remove(&name);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use record::{Provenance, SCHEMA};

    use super::*;

    fn record(minute: usize) -> Record {
        let provenance = Provenance {
            started_utc: format!("2026-01-01T00:{minute:02}:00Z"),
            boot_id: Some("1a2b3c4d-0000".to_owned()),
            ..Provenance::default()
        };
        Record { schema: SCHEMA, provenance, ..Record::default() }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store { path: folder.path().join("new/history") };
        (folder, store)
    }

    #[test]
    fn entries_come_back_in_order_and_foreign_or_half_files_are_one_line_each() {
        let (_folder, store) = store();
        assert!(store.read().expect("nothing there").entries.is_empty());
        for minute in [7, 3, 5] {
            store.append(&record(minute)).expect("writable");
        }
        let names: Vec<String> = fs::read_dir(&store.path)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("ours"))
            .collect();
        let half = fs::read(store.path.join(&names[0])).expect("readable");
        let name = |minute: usize| format!("20260101T00{minute:02}00Z-1a2b3c4d-1.json.zst");
        fs::write(store.path.join(name(20)), &half[..half.len() / 2]).expect("writable");
        fs::write(store.path.join(name(21)), b"").expect("writable");
        fs::write(store.path.join("notes"), b"mine").expect("writable");
        fs::create_dir(store.path.join(name(22))).expect("a folder is no file");
        let found = store.read().expect("readable");
        let times: Vec<&str> = found.entries.iter().map(|(_, entry)| &entry.started_utc[14..16]).collect();
        assert_eq!(times, ["03", "05", "07"]);
        assert_eq!(found.skipped.len(), 3, "{:?}", found.skipped);
        let again = record::decode(&fs::read(store.path.join(&found.entries[0].0)).expect("readable"));
        assert_eq!(again.expect("a record"), record(3));
    }

    #[test]
    fn a_writer_that_was_killed_leaves_no_half_entry_and_is_cleaned_up_after() {
        let (_folder, store) = store();
        store.append(&record(1)).expect("writable");
        let folder = TrustedFolder::open(&store.path).expect("ours");
        // What stands there when the writer dies before the new name: a process that is gone, and one that is not.
        let entry = "20260101T000900Z-1a2b3c4d-9.json.zst";
        let dead = format!("{entry}{UNFINISHED}{}", u32::MAX);
        let alive = format!("{entry}{UNFINISHED}{}", process::id());
        for name in [&dead, &alive] {
            folder.write(name, b"half").expect("writable");
        }
        let found = store.read().expect("readable");
        assert!(found.entries.len() == 1 && found.skipped.is_empty(), "{found:?}");
        store.append(&record(2)).expect("writable");
        assert!(!store.path.join(&dead).exists() && store.path.join(&alive).exists());
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_one_line_with_what_to_do() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("file"), b"").expect("writable");
        let store = Store { path: folder.path().join("file/history") };
        let why = format!("{:#}", store.append(&record(1)).expect_err("a file is no folder"));
        assert!(why.starts_with("cannot use ") && !why.contains('\n'), "{why}");
    }
}
