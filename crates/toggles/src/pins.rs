//! Pins of a process tree in the journal, and taking them off: what its threads could use before, and what may be written.
//!
//! Threads come and go faster than a journal can be written. So it does not list them: it names the processes, the CPUs that
//! their threads could use before, every list of CPUs that is ever written, and the threads that had or chose a list of their
//! own. A thread of these processes, or of one that descends from them, that shows one of our lists and did not choose it was
//! pinned by us, or inherited it from a thread that was: it gets the old list. No other thread is touched.
//!
//! Limits: a thread that chooses, for itself, exactly a list of ours between two looks cannot be told from one that inherited
//! it. A process that leaves its parents (a daemon) is followed from the first look that sees it on.

use std::collections::{BTreeMap, BTreeSet};

use host::{Followed, ProcessId, SystemWriter, SystemWriterError, Target};
use serde::{Deserialize, Serialize};

use crate::affinity::{TaskGroup, is_gone};
use crate::journal::Entry;
use crate::restore::{Fate, Restored};

/// Pinned threads start others while they are set free. Each pass finds those of the one before, and a thread that was set free
/// starts free ones; so few passes do.
const PASSES_MAX: usize = 16;

/// A thread, by its numbers and when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: u32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

impl ThreadId {
    /// Of a thread that is followed.
    pub fn of(thread: &Followed) -> Self {
        Self { process: thread.process.process, thread: thread.thread, start_ticks: thread.start_ticks }
    }

    /// What is written to bind it.
    pub fn target(self) -> Target {
        let Self { process, thread, start_ticks } = self;
        Target::Task { process, thread, start_ticks }
    }
}

/// What the journal knows of a process tree that is pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The processes, as `PROCESS@START`, with blanks between; START is in clock ticks since boot.
    pub processes: String,
    /// The CPUs that their threads could use before.
    pub cpus: String,
    /// Every list of CPUs that may be written, other than that.
    pub ours: Vec<String>,
    /// Threads that had or chose CPUs of their own: they are left alone.
    pub apart: Vec<TaskGroup>,
}

impl Pins {
    pub(crate) fn new(
        processes: &BTreeSet<ProcessId>,
        cpus: &str,
        ours: &[String],
        apart: &BTreeMap<ThreadId, String>,
    ) -> Self {
        let name = |process: &ProcessId| format!("{}@{}", process.process, process.start_ticks);
        Self {
            processes: processes.iter().map(name).collect::<Vec<_>>().join(" "),
            cpus: cpus.to_owned(),
            ours: ours.to_vec(),
            apart: TaskGroup::of(apart.iter().map(|(thread, cpus)| (*thread, cpus.clone()))),
        }
    }

    /// The processes.
    pub fn process_ids(&self) -> Vec<ProcessId> {
        let parse = |word: &str| {
            let (process, start) = word.split_once('@')?;
            Some(ProcessId { process: process.parse().ok()?, start_ticks: start.parse().ok()? })
        };
        self.processes.split_whitespace().filter_map(parse).collect()
    }

    fn threads_apart(&self) -> BTreeSet<ThreadId> {
        self.apart.iter().flat_map(TaskGroup::thread_ids).collect()
    }
}

/// Sets every thread free that shows one of our lists; tells those that were pinned. Threads that ended need nothing.
pub(crate) fn unpin(writer: &mut impl SystemWriter, pins: &Pins) -> Vec<Restored> {
    let (processes, apart) = (pins.process_ids(), pins.threads_apart());
    let mut told: BTreeMap<ThreadId, Restored> = BTreeMap::new();
    for _ in 0..PASSES_MAX {
        let threads = match writer.threads(&processes) {
            Ok(threads) => threads,
            Err(error) => {
                told.extend(processes.first().map(|first| unread(*first, pins, &error)));
                break;
            }
        };
        let is_pinned =
            |thread: &&Followed| pins.ours.contains(&thread.cpus) && !apart.contains(&ThreadId::of(thread));
        let pinned: Vec<ThreadId> = threads.iter().filter(is_pinned).map(ThreadId::of).collect();
        let again = pinned.iter().filter(|id| !told.contains_key(id)).count();
        for id in pinned {
            if let Some(fate) = free(writer, id, &pins.cpus) {
                told.insert(id, restored(id, pins, fate));
            }
        }
        if again == 0 {
            break;
        }
    }
    told.into_values().collect()
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
