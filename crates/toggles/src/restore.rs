//! Putting back: in reverse, and only what still is as the experiment left it; and taking pins off a process tree.
//!
//! Threads come and go faster than a journal can be written. So it does not list them: it names the processes, the CPUs that
//! their threads could use before, every list of CPUs that is ever written, and the threads that had or chose a list of their
//! own. A thread of these processes, or of one that descends from them, that shows one of our lists and did not choose it was
//! pinned by us, or inherited it from a thread that was: it gets the old list. No other thread is touched.
//!
//! Limits: a thread that chooses, for itself, exactly a list of ours between two looks is taken for one that inherited it.
//! A process that leaves its parents (a daemon) is followed from the first look that sees it on.

use std::collections::BTreeMap;
use std::io;

use host::{Followed, ProcessId, SystemWriter, SystemWriterError};

use crate::journal::{Entry, Pins, ThreadId};

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The old value was written and read back.
    Restored,
    /// The old value was there already.
    Untouched,
    /// Somebody else wrote this value; it was left alone.
    Foreign(String),
    /// It could not be read, written, or read back; this is why.
    Failed(String),
}

/// One entry and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub entry: Entry,
    /// What became of it.
    pub fate: Fate,
}

impl Restored {
    /// True if the machine is as it was before.
    pub fn is_settled(&self) -> bool {
        matches!(self.fate, Fate::Restored | Fate::Untouched)
    }
}

/// Puts entries back in reverse order. With `force`, what somebody else wrote is overwritten too.
///
/// One of several may undo another, or forbid it for a time: SMT that goes on brings every CPU, and while it is off no
/// second thread can be brought. So all are looked at once more.
pub fn restore(writer: &mut impl SystemWriter, entries: &[Entry], force: bool) -> Vec<Restored> {
    let mut results: Vec<Restored> = entries
        .iter()
        .rev()
        .map(|entry| Restored { entry: entry.clone(), fate: restore_one(writer, entry, force) })
        .collect();
    results.reverse();
    if results.len() > 1 {
        for result in &mut results {
            result.fate = match (&result.fate, restore_one(writer, &result.entry, force)) {
                (Fate::Restored | Fate::Failed(_), Fate::Untouched) => Fate::Restored,
                (_, now) => now,
            };
        }
    }
    results
}

pub(crate) fn restore_one(writer: &mut impl SystemWriter, entry: &Entry, force: bool) -> Fate {
    let now = match writer.read(&entry.target) {
        Ok(now) => now,
        Err(error) => return Fate::Failed(error.to_string()),
    };
    if now == entry.old {
        return Fate::Untouched;
    }
    if !force && !entry.ours.contains(&now) {
        return Fate::Foreign(now);
    }
    if let Err(error) = writer.write(&entry.target, &entry.old) {
        return Fate::Failed(error.to_string());
    }
    match writer.read(&entry.target) {
        Ok(after) if after == entry.old => Fate::Restored,
        Ok(after) => Fate::Failed(format!("{} was written and {after} read back", entry.old)),
        Err(error) => Fate::Failed(error.to_string()),
    }
}

fn source(error: &SystemWriterError) -> Option<&io::Error> {
    match error {
        SystemWriterError::Read { source, .. } | SystemWriterError::Write { source, .. } => Some(source),
        _ => None,
    }
}

/// The number of the error by which the kernel refused.
pub(crate) fn refusal_code(error: &SystemWriterError) -> Option<i32> {
    source(error).and_then(io::Error::raw_os_error)
}

/// True if the thread ended, or the cpuset or interrupt was removed.
pub(crate) fn is_gone(error: &SystemWriterError) -> bool {
    /// `ESRCH`, include/uapi/asm-generic/errno-base.h.
    const NO_SUCH_PROCESS: i32 = 3;
    source(error).is_some_and(|error| {
        error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
    })
}

/// Pinned threads start others while they are set free. Each pass finds those of the one before, and a thread that was set free
/// starts free ones; so few passes do.
const PASSES_MAX: usize = 16;

/// Sets every thread free that shows one of our lists; reports those that were pinned. Threads that ended need nothing.
pub(crate) fn unpin(writer: &mut impl SystemWriter, pins: &Pins) -> Vec<Restored> {
    let (processes, apart) = (pins.process_ids(), pins.threads_apart());
    let mut results: BTreeMap<ThreadId, Restored> = BTreeMap::new();
    for _ in 0..PASSES_MAX {
        let threads = match writer.threads(&processes) {
            Ok(threads) => threads,
            Err(error) => {
                results.extend(processes.first().map(|first| unread(*first, pins, &error)));
                break;
            }
        };
        let is_pinned =
            |thread: &&Followed| pins.ours.contains(&thread.cpus) && !apart.contains(&ThreadId::of(thread));
        let pinned: Vec<ThreadId> = threads.iter().filter(is_pinned).map(ThreadId::of).collect();
        let again = pinned.iter().filter(|id| !results.contains_key(id)).count();
        for id in pinned {
            if let Some(fate) = free(writer, id, &pins.cpus) {
                results.insert(id, restored(id, pins, fate));
            }
        }
        if again == 0 {
            break;
        }
    }
    results.into_values().collect()
}

fn unread(process: ProcessId, pins: &Pins, error: &SystemWriterError) -> (ThreadId, Restored) {
    let ProcessId { process, start_ticks } = process;
    let id = ThreadId { process, thread: process, start_ticks };
    (id, restored(id, pins, Fate::Failed(error.to_string())))
}

fn restored(id: ThreadId, pins: &Pins, fate: Fate) -> Restored {
    Restored { entry: Entry { target: id.target(), old: pins.cpus.clone(), ours: pins.ours.clone() }, fate }
}

/// What became of one thread; `None` if it ended.
fn free(writer: &mut impl SystemWriter, id: ThreadId, cpus: &str) -> Option<Fate> {
    let target = id.target();
    let written = writer.write(&target, cpus).and_then(|()| writer.read(&target));
    match written {
        Ok(now) if now == cpus => Some(Fate::Restored),
        Ok(now) => Some(Fate::Failed(format!("{cpus} was written and {now} read back"))),
        Err(error) => (!is_gone(&error)).then(|| Fate::Failed(error.to_string())),
    }
}
