//! `sidestep history`: earlier check-ups of this machine, and what each row did since.

use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context;
use clap::Args;
use experiments::history::{
    BOUNDS, entry, file_name, fingerprint, is_entry, is_same_machine, to_prune, trends,
};
use host::TrustedFolder;
use host::trusted_folder::UNFINISHED;
use machine::did_you_mean;
use record::{
    ENTRY_BYTES_MAX, Encoding, EntryError, HISTORY_SCHEMA, HistoryEntry, HistoryLine, HistoryListing, Record,
    decode, decode_entry, encode, encode_entry,
};

use crate::forms::Forms;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::store::KeptFolder;
use crate::{describe, output};

/// Options of `history`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HistoryArguments {
    /// Show the trend of this row, such as rdtsc, and where it changed
    #[arg(long, value_name = "NAME")]
    row: Option<String>,
    /// Show the trends of all rows, those that changed first
    #[arg(long, conflicts_with = "row")]
    trend: bool,
    /// List so many entries, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,
    /// Read the history in this folder instead of the user's own
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    forms: Forms,
}

/// Keeps a record without its raw windows, unless something was planted in it: such a record says nothing of its machine. A history
/// that cannot be written is one line: the run has its record.
pub(crate) fn append(record: &Record) {
    if !record.provenance.planted.is_empty() {
        return;
    }
    if let Err(why) = Store::of_user().append(record) {
        output::complain(&format!("the history has no entry of this run: {why:#}"));
    }
}

/// Lists.
pub(crate) fn history(arguments: &HistoryArguments, global: &Global) -> anyhow::Result<Outcome> {
    if let Some(folder) = arguments.state.as_deref().filter(|folder| !folder.is_dir()) {
        anyhow::bail!("{} is no folder; name that of a history with --state DIR", folder.display());
    }
    let store = Store::at(arguments.state.as_deref());
    let found = store.read()?;
    let here = fingerprint(&describe::live_machine());
    let mut listing =
        HistoryListing { schema: HISTORY_SCHEMA, machines: vec![here], ..HistoryListing::default() };
    listing.skipped.clone_from(&found.skipped);
    let mut own: Vec<&HistoryEntry> = Vec::new();
    for (file, entry) in &found.entries {
        let known = listing.machines.iter().position(|one| is_same_machine(one, &entry.fingerprint));
        let machine = known.unwrap_or_else(|| {
            listing.machines.push(entry.fingerprint.clone());
            listing.machines.len() - 1
        });
        if machine == 0 {
            own.push(entry);
        }
        listing.entries.push(line(file, entry, machine));
    }
    if arguments.trend || arguments.row.is_some() {
        listing.trends = trends(&own, arguments.row.as_deref());
        if let Some(row) = arguments.row.as_ref().filter(|_| listing.trends.is_empty()) {
            let names = own.last().map(|entry| entry.rows.keys().map(String::as_str)).into_iter().flatten();
            anyhow::bail!(
                "no check-up of this machine has the row {row}; {}sidestep history --trend lists them",
                did_you_mean(row, names)
            );
        }
        listing.trends.sort_by_key(|trend| trend.changes.is_empty());
    }
    let hidden = listing.entries.len().saturating_sub(arguments.last);
    if !global.json {
        for line in &listing.skipped {
            output::say(&format!("skipped {line}"));
        }
    }
    let page = report::history_page(&listing, hidden, &store.0.path().display().to_string());
    arguments.forms.print(&page, &listing, global)?;
    Ok(Outcome::Done)
}

fn line(file: &str, entry: &HistoryEntry, machine: usize) -> HistoryLine {
    let fact = |name: &str| entry.facts.get(name).cloned();
    HistoryLine {
        file: file.to_owned(),
        started_utc: entry.started_utc.clone(),
        machine,
        boot: fact("boot"),
        kernel: fact("kernel"),
        microcode: fact("microcode"),
        warnings: entry.warnings,
        inconclusive: entry.inconclusive,
        doubts: entry.doubts.clone(),
        partial: entry.partial.clone(),
    }
}

/// A history on disk.
#[derive(Debug)]
pub(crate) struct Store(KeptFolder);

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
        Self::at(None)
    }

    /// That in another folder, if one is named.
    pub(crate) fn at(named: Option<&Path>) -> Self {
        Self(KeptFolder::below("history", named))
    }

    /// Adds an entry, then takes away what there is no more room for.
    ///
    /// # Errors
    /// A folder that cannot be used or written.
    pub(crate) fn append(&self, record: &Record) -> anyhow::Result<()> {
        let provenance = &record.provenance;
        let name = file_name(provenance, process::id())
            .with_context(|| format!("{} is no time; set the clock", provenance.started_utc))?;
        let record = record.clone().without_raw();
        let bytes = encode_entry(encode(&record, Encoding::Zstd)?, &entry(&record))?;
        let folder = self.0.made()?;
        folder.replace(&name, &bytes).map_err(|why| self.0.unusable(why))?;
        prune(&folder, &name);
        Ok(())
    }

    /// All entries. A history that nobody has begun is empty.
    ///
    /// # Errors
    /// A folder that cannot be used.
    pub(crate) fn read(&self) -> anyhow::Result<Entries> {
        let Some(folder) = self.0.begun()? else { return Ok(Entries::default()) };
        let mut found = Entries::default();
        let files = folder.files().map_err(|why| self.0.unusable(why))?;
        for (name, _) in files.into_iter().filter(|(name, _)| !name.contains(UNFINISHED)) {
            let read =
                if is_entry(&name) { read(&folder, &name) } else { Err(EntryError::NoEntry.to_string()) };
            match read {
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
        let folder = self.0.begun()?.with_context(|| format!("{} is gone", self.0.path().display()))?;
        let bytes = folder.read(name)?.with_context(|| format!("{name} is gone"))?;
        Ok(decode(&bytes)?)
    }
}

fn read(folder: &TrustedFolder, name: &str) -> Result<HistoryEntry, String> {
    let tail = folder.read_tail(name, ENTRY_BYTES_MAX).map_err(|why| why.to_string())?;
    decode_entry(&tail.unwrap_or_default()).map_err(|why| why.to_string())
}

/// What cannot be removed stays until the next time: the entry is written, and another run may have been faster.
fn prune(folder: &TrustedFolder, written: &str) {
    let files = folder.files().unwrap_or_default();
    for name in to_prune(&files, written, BOUNDS) {
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
        let store = Store::at(Some(&folder.path().join("new/history")));
        (folder, store)
    }

    #[test]
    fn entries_come_back_in_order_and_foreign_or_half_files_are_one_line_each() {
        let (_folder, store) = store();
        assert!(store.read().expect("nothing there").entries.is_empty());
        for minute in [7, 3, 5] {
            store.append(&record(minute)).expect("writable");
        }
        let names: Vec<String> = fs::read_dir(store.0.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("ours"))
            .collect();
        let half = fs::read(store.0.path().join(&names[0])).expect("readable");
        let name = |minute: usize| format!("20260101T00{minute:02}00Z-1a2b3c4d-1.json.zst");
        fs::write(store.0.path().join(name(20)), &half[..half.len() / 2]).expect("writable");
        fs::write(store.0.path().join(name(21)), b"").expect("writable");
        fs::write(store.0.path().join("notes"), b"mine").expect("writable");
        fs::create_dir(store.0.path().join(name(22))).expect("a folder is no file");
        let found = store.read().expect("readable");
        let times: Vec<&str> = found.entries.iter().map(|(_, entry)| &entry.started_utc[14..16]).collect();
        assert_eq!(times, ["03", "05", "07"]);
        assert_eq!(found.skipped.len(), 3, "{:?}", found.skipped);
        let again = record::decode(&fs::read(store.0.path().join(&found.entries[0].0)).expect("readable"));
        assert_eq!(again.expect("a record"), record(3));
    }

    #[test]
    fn a_writer_that_was_killed_leaves_no_half_entry_and_is_cleaned_up_after() {
        let (_folder, store) = store();
        store.append(&record(1)).expect("writable");
        let folder = TrustedFolder::open(store.0.path()).expect("ours");
        // What stands there when the writer dies before the new name: a process that is gone, and one that is not.
        let entry = "20260101T000900Z-1a2b3c4d-9.json.zst";
        let dead = format!("{entry}{UNFINISHED}{}", u32::MAX);
        let alive = format!("{entry}{UNFINISHED}{}", process::id());
        for name in [&dead, &alive] {
            folder.write(name, b"half").expect("writable");
        }
        let at_work = fs::File::open(store.0.path().join(&alive)).expect("readable");
        at_work.lock().expect("as its writer holds it");
        let found = store.read().expect("readable");
        assert!(found.entries.len() == 1 && found.skipped.is_empty(), "{found:?}");
        store.append(&record(2)).expect("writable");
        assert!(!store.0.path().join(&dead).exists() && store.0.path().join(&alive).exists());
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_one_line_with_what_to_do() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("file"), b"").expect("writable");
        let store = Store::at(Some(&folder.path().join("file/history")));
        let why = format!("{:#}", store.append(&record(1)).expect_err("a file is no folder"));
        assert!(why.starts_with("cannot use ") && !why.contains('\n'), "{why}");
    }
}
