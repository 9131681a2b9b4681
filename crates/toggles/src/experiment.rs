//! One experiment on the machine: journal first, then write and read back, and in the end put everything back.

use std::io;

use host::{Disk, SystemWriter, SystemWriterError, Target};

use crate::affinity::{all_as_before, is_list_of_cpus, is_online_file, put_back, remember, switches_smt};
use crate::journal::{self, Entry, Journal, Owner, Unreadable};
use crate::restore::Restored;
use crate::toggle::Change;

/// Why an experiment could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// An earlier one left its journal.
    #[error("{label} was left switched {since}; sidestep toggles revert puts it back")]
    Stale {
        /// What was switched.
        label: String,
        /// When.
        since: String,
    },
    /// An earlier one left something that is no journal.
    #[error(
        "{0}; what it switched may still be switched; compare, then sidestep toggles revert --forget sets it aside"
    )]
    Damaged(Unreadable),
    /// Another sidestep left a journal.
    #[error(transparent)]
    OtherFormat(Unreadable),
    /// The journal cannot be kept.
    #[error("cannot keep the journal: {0}; nothing was changed")]
    Journal(io::Error),
    /// A value cannot be read or written.
    #[error(transparent)]
    SystemWriter(#[from] SystemWriterError),
    /// The machine took the write and shows something else.
    #[error("{target} shows {found} after {written} was written; everything is put back")]
    NotTaken {
        /// Where.
        target: Target,
        /// What was written.
        written: String,
        /// What it shows.
        found: String,
    },
    /// Somebody else changed it meanwhile.
    #[error("{target} was changed to {found} by somebody else; the experiment ends")]
    Foreign {
        /// Where.
        target: Target,
        /// What it shows.
        found: String,
    },
    /// A change that the journal does not hold: a mistake of the caller.
    #[error("{target} is not in the journal; nothing was written")]
    NotJournalled {
        /// Where.
        target: Target,
    },
    /// It put everything back already, after an earlier error.
    #[error("the experiment is over: everything was put back after an error")]
    Over,
}

/// What an experiment wants to do: the states it will switch between.
#[derive(Debug, Clone, Copy)]
pub struct Intent<'a> {
    /// What is switched, in the user's words.
    pub label: &'a str,
    /// Every set of changes that it may make.
    pub states: &'a [&'a [Change]],
    /// True if the change shall stay until it is reverted.
    pub kept: bool,
}

/// What the journal will say: every target with the value it has now and the values it may get.
///
/// # Errors
/// A value that cannot be read.
pub fn survey(writer: &mut impl SystemWriter, states: &[&[Change]]) -> Result<Vec<Entry>, SystemWriterError> {
    let mut entries: Vec<Entry> = Vec::new();
    for change in states.iter().flat_map(|changes| changes.iter()) {
        let known = entries.iter().position(|entry| entry.target == change.target);
        let index = known.unwrap_or(entries.len());
        if known.is_none() {
            let old = writer.read(&change.target)?;
            entries.push(Entry { target: change.target.clone(), old, ours: Vec::new() });
        }
        let entry = &mut entries[index];
        if !entry.ours.contains(&change.value) {
            entry.ours.push(change.value.clone());
        }
    }
    Ok(entries)
}

/// A journal of this boot, or one that cannot be read, has to be dealt with before another is written.
pub(crate) fn ensure_no_journal(disk: &mut impl Disk, owner: &Owner) -> Result<(), ExperimentError> {
    journal::clear_unfinished(disk).map_err(ExperimentError::Journal)?;
    match journal::load(disk).map_err(ExperimentError::Journal)? {
        Some(Ok(old)) if old.owner.boot_id == owner.boot_id => {
            Err(ExperimentError::Stale { label: old.label, since: old.since })
        }
        Some(Err(damaged @ Unreadable::Damaged(_))) => Err(ExperimentError::Damaged(damaged)),
        Some(Err(other)) => Err(ExperimentError::OtherFormat(other)),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// A journalled experiment. Dropping it puts the machine back; [`Experiment::end`] does so and tells what happened.
#[derive(Debug)]
pub struct Experiment<D: SystemWriter, K: Disk> {
    writer: D,
    disk: K,
    journal: Journal,
    is_open: bool,
}

impl<D: SystemWriter, K: Disk> Experiment<D, K> {
    /// Reads all old values and writes the journal. Nothing is changed yet. The caller holds the lock.
    ///
    /// If a CPU can go away, the journal also remembers what is bound to CPUs.
    ///
    /// A journal of another boot is void, as a boot resets all that sidestep switches, and is replaced.
    ///
    /// # Errors
    /// A journal of this boot, a damaged one, one of another format, a value that cannot be read, or a disk that does not
    /// keep the journal.
    pub fn begin(
        mut writer: D,
        mut disk: K,
        owner: Owner,
        intent: &Intent,
        since: String,
    ) -> Result<Self, ExperimentError> {
        ensure_no_journal(&mut disk, &owner)?;
        let entries = survey(&mut writer, intent.states)?;
        let affinities = remember(&mut writer, &entries)?;
        let (label, kept) = (intent.label.to_owned(), intent.kept);
        let journal = Journal { owner, label, since, kept, entries, affinities, pins: None };
        journal::store(&mut disk, &journal).map_err(ExperimentError::Journal)?;
        Ok(Self { writer, disk, journal, is_open: true })
    }

    /// What the journal holds.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Makes changes in order and reads each back. On any error everything is put back and the journal cleared as far
    /// as that is possible; [`Experiment::end`] then tells what is left.
    ///
    /// # Errors
    /// A write that fails or is not taken, or a foreign change.
    pub fn switch(&mut self, changes: &[Change]) -> Result<(), ExperimentError> {
        if !self.is_open {
            return Err(ExperimentError::Over);
        }
        let result = changes.iter().try_for_each(|change| self.make(change));
        if result.is_err() {
            self.put_back();
        } else {
            self.rebind_if_back();
        }
        result
    }

    /// A state in which every CPU is back is measured with everything bound as it was. What that could not put back is
    /// reported in the end, when all is compared once more.
    fn rebind_if_back(&mut self) {
        let Some(affinities) = &self.journal.affinities else { return };
        let writer = &mut self.writer;
        let mut is_back = |entry: &Entry| writer.read(&entry.target).is_ok_and(|now| now == entry.old);
        if self.journal.entries.iter().all(&mut is_back) {
            all_as_before(&mut self.writer, affinities, &self.journal.entries);
        }
    }

    fn make(&mut self, change: &Change) -> Result<(), ExperimentError> {
        let target = &change.target;
        let entry = self.journal.entries.iter().find(|entry| entry.target == *target);
        let Some(entry) = entry.filter(|entry| entry.ours.contains(&change.value)) else {
            return Err(ExperimentError::NotJournalled { target: target.clone() });
        };
        let now = self.writer.read(target)?;
        if now == change.value {
            return Ok(());
        }
        if now != entry.old && !entry.ours.contains(&now) {
            return Err(ExperimentError::Foreign { target: target.clone(), found: now });
        }
        self.writer.write(target, &change.value)?;
        let found = self.writer.read(target)?;
        if found != change.value {
            let (target, written) = (target.clone(), change.value.clone());
            return Err(ExperimentError::NotTaken { target, written, found });
        }
        Ok(())
    }

    /// Puts everything back and clears the journal; what could not be put back stays in it.
    pub fn end(mut self) -> Vec<Restored> {
        self.put_back()
    }

    /// Leaves the changes and the journal for a later `revert`.
    pub fn keep(mut self) {
        self.is_open = false;
    }

    fn put_back(&mut self) -> Vec<Restored> {
        self.is_open = false;
        let results = put_back(&mut self.writer, &self.journal, false);
        // A journal that cannot be cleared only makes the next command look again.
        let _ = settle(&mut self.disk, &self.journal, &results);
        results
    }
}

impl<D: SystemWriter, K: Disk> Drop for Experiment<D, K> {
    fn drop(&mut self) {
        if self.is_open {
            self.put_back();
        }
    }
}

/// Clears the journal if everything is put back, else leaves in it what is not.
///
/// # Errors
/// What the disk said.
pub fn settle(disk: &mut impl Disk, journal: &Journal, results: &[Restored]) -> io::Result<()> {
    let is_open = |result: &&Restored| !result.is_settled();
    let open: Vec<&Target> = results.iter().filter(is_open).map(|result| &result.entry.target).collect();
    if open.iter().any(|target| is_list_of_cpus(target)) {
        // Which CPUs are there is judged by all that was switched, so that all of it is needed once more.
        return Ok(());
    }
    let mut left = journal.clone();
    // A CPU that SMT brought is known for that only beside the entry of SMT.
    let is_cpu_open = open.iter().any(|target| is_online_file(target));
    left.entries.retain(|entry| open.contains(&&entry.target) || (is_cpu_open && switches_smt(entry)));
    // As long as a CPU is away, nothing that was bound to it has been looked at.
    if left.entries.is_empty() {
        left.affinities = journal.affinities.as_ref().and_then(|have| have.only(&open));
    }
    let is_pin = |target: &Target| matches!(target, Target::Task { .. });
    if !open.iter().any(|target| is_pin(target)) {
        left.pins = None;
    }
    if left.entries.is_empty() && left.affinities.is_none() && left.pins.is_none() {
        return journal::clear(disk);
    }
    if results.iter().any(Restored::is_settled) {
        left.label = what_is_left(&left, &open);
    }
    if left == *journal {
        return Ok(());
    }
    journal::store(disk, &left)
}

/// What was not put back: the words of the user name what is back, too.
fn what_is_left(left: &Journal, open: &[&Target]) -> String {
    /// More names do not help.
    const NAMED_MAX: usize = 3;
    if left.pins.is_some() {
        return left.label.clone();
    }
    let mut names: Vec<String> = open.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = open.len().saturating_sub(NAMED_MAX);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}
