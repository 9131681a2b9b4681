//! A process tree whose threads are bound to CPUs, journalled first and set free exactly: new threads and children included.
//!
//! Whoever pins looks again and again: a look finds the threads that are there, journals processes that are new, and notices
//! threads that chose CPUs for themselves, which are left alone from then on. Threads inherit the CPUs of the thread that
//! started them, so between two looks a new one sits where its parent does.

use std::collections::{BTreeMap, BTreeSet};

use host::{Disk, Followed, ProcessId, SystemWriter, SystemWriterError};
use machine::CpuSet;

use crate::experiment::{ExperimentError, ensure_no_journal, settle};
use crate::journal::{self, Journal, Owner, Pins, ThreadId};
use crate::restore::{Restored, is_gone, refusal_code, unpin};

/// Why threads could not be pinned.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The journal, or a writer that fails.
    #[error("{0}")]
    Experiment(#[from] ExperimentError),
    /// It ended before anything was pinned.
    #[error("process {0} is not there any more; start it again, or name another one")]
    Gone(u32),
    /// The kernel does not let us.
    #[error("process {process} belongs to another user: run sidestep as that user, or as root")]
    NotOurs { process: u32 },
    /// None of the CPUs is one that the thread may use.
    #[error(
        "thread {thread} of process {process} may not use CPUs {cpus}: its cpuset holds none of them; see /proc/{process}/cpuset"
    )]
    OutsideCpuset {
        process: u32,
        thread: u32,
        /// What was asked for.
        cpus: String,
    },
}

impl From<SystemWriterError> for PinError {
    fn from(error: SystemWriterError) -> Self {
        Self::Experiment(error.into())
    }
}

/// What is to be pinned.
#[derive(Debug, Clone, Copy)]
pub struct PinIntent<'a> {
    /// In the user's words.
    pub label: &'a str,
    /// The top of the tree.
    pub process: ProcessId,
    /// Every set of CPUs that threads may be bound to.
    pub sets: &'a [CpuSet],
}

/// A thread as a look found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub thread: Followed,
    /// True if it had or chose CPUs of its own.
    pub is_apart: bool,
}

/// A journalled tree. Dropping it sets every thread free; [`Pinning::release`] does so and tells what happened.
#[derive(Debug)]
pub struct Pinning<D: SystemWriter, K: Disk> {
    writer: D,
    disk: K,
    journal: Journal,
    /// What threads could use before.
    cpus: String,
    ours: Vec<String>,
    processes: BTreeSet<ProcessId>,
    apart: BTreeMap<ThreadId, String>,
    /// What was written last.
    written: BTreeMap<ThreadId, String>,
    is_open: bool,
}

impl<D: SystemWriter, K: Disk> Pinning<D, K> {
    /// Reads what the tree may use and writes the journal. Nothing is pinned yet. The caller holds the lock.
    ///
    /// # Errors
    /// A journal that was left, a process that ended, or a disk that does not keep the journal.
    pub fn begin(
        mut writer: D,
        mut disk: K,
        owner: Owner,
        intent: &PinIntent,
        since: String,
    ) -> Result<Self, PinError> {
        ensure_no_journal(&mut disk, &owner)?;
        let threads = writer.threads(&[intent.process])?;
        let is_first =
            |thread: &&Followed| thread.process == intent.process && thread.thread == intent.process.process;
        let first = threads.iter().find(is_first).ok_or(PinError::Gone(intent.process.process))?;
        let cpus = first.cpus.clone();
        let mut ours: Vec<String> = intent.sets.iter().map(ToString::to_string).collect();
        ours.retain(|list| *list != cpus);
        let journal = Journal {
            owner,
            label: intent.label.to_owned(),
            since,
            kept: false,
            entries: Vec::new(),
            affinities: None,
            pins: None,
        };
        let mut pinning = Self {
            writer,
            disk,
            journal,
            cpus,
            ours,
            processes: [intent.process].into_iter().collect(),
            apart: BTreeMap::new(),
            written: BTreeMap::new(),
            is_open: true,
        };
        // A list of ours that a thread already shows is its own choice, as nothing was written yet.
        for thread in threads.iter().filter(|thread| thread.cpus != pinning.cpus) {
            pinning.apart.insert(ThreadId::of(thread), thread.cpus.clone());
        }
        pinning.processes.extend(threads.iter().map(|thread| thread.process));
        pinning.store()?;
        Ok(pinning)
    }

    /// What threads of the tree could use before, as the kernel prints it.
    pub fn cpus(&self) -> &str {
        &self.cpus
    }

    /// Every thread that is there; none once the tree has ended. Processes that are new are in the journal when this returns.
    ///
    /// # Errors
    /// A journal that cannot be kept: everything is set free then.
    pub fn look(&mut self) -> Result<Vec<Seen>, PinError> {
        let found = self.look_and_journal();
        if found.is_err() {
            self.set_free();
        }
        found
    }

    fn look_and_journal(&mut self) -> Result<Vec<Seen>, PinError> {
        if !self.is_open {
            return Err(ExperimentError::Over.into());
        }
        let threads = self.writer.threads(&self.processes.iter().copied().collect::<Vec<_>>())?;
        let there: BTreeSet<ProcessId> = threads.iter().map(|thread| thread.process).collect();
        let mut is_news = !there.is_subset(&self.processes);
        for thread in &threads {
            let id = ThreadId::of(thread);
            if !self.apart.contains_key(&id) && self.chose(id, &thread.cpus) {
                self.apart.insert(id, thread.cpus.clone());
                is_news = true;
            }
        }
        // Threads that come and go in processes that stay are no news.
        if is_news || self.written.len() > 2 * threads.len() {
            let alive: BTreeSet<ThreadId> = threads.iter().map(ThreadId::of).collect();
            self.apart.retain(|id, _| alive.contains(id));
            self.written.retain(|id, _| alive.contains(id));
        }
        if is_news {
            self.processes = there;
            self.store()?;
        }
        let seen = |thread: Followed| {
            let is_apart = self.apart.contains_key(&ThreadId::of(&thread));
            Seen { thread, is_apart }
        };
        Ok(threads.into_iter().map(seen).collect())
    }

    /// True if neither we nor the thread that started it gave it these CPUs.
    fn chose(&self, id: ThreadId, cpus: &str) -> bool {
        match self.written.get(&id) {
            Some(written) => written != cpus,
            None => cpus != self.cpus && !self.ours.iter().any(|list| list == cpus),
        }
    }

    /// Binds threads of the last look to CPUs that the intent named, or to all that they could use before; threads that ended
    /// or are apart are passed over. How many were bound.
    ///
    /// # Errors
    /// The kernel refuses, or CPUs that the journal does not name: everything is set free then.
    pub fn pin(&mut self, bindings: &[(ThreadId, CpuSet)]) -> Result<usize, PinError> {
        let mut bound = 0;
        for (id, cpus) in bindings {
            match self.pin_one(*id, &cpus.to_string()) {
                Ok(is_bound) => bound += usize::from(is_bound),
                Err(error) => {
                    self.set_free();
                    return Err(error);
                }
            }
        }
        Ok(bound)
    }

    fn pin_one(&mut self, id: ThreadId, cpus: &str) -> Result<bool, PinError> {
        if !self.is_open {
            return Err(ExperimentError::Over.into());
        }
        let is_journalled = cpus == self.cpus || self.ours.iter().any(|list| list == cpus);
        if !is_journalled || !self.processes.iter().any(|process| process.process == id.process) {
            return Err(ExperimentError::NotJournalled { target: id.target() }.into());
        }
        if self.apart.contains_key(&id) || self.written.get(&id).is_some_and(|written| written == cpus) {
            return Ok(false);
        }
        match self.writer.write(&id.target(), cpus) {
            Ok(()) => {
                self.written.insert(id, cpus.to_owned());
                Ok(true)
            }
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(refused(id, cpus, error)),
        }
    }

    /// Sets every thread free and clears the journal; what could not be set free stays in it.
    pub fn release(mut self) -> Vec<Restored> {
        self.set_free()
    }

    fn set_free(&mut self) -> Vec<Restored> {
        if !self.is_open {
            return Vec::new();
        }
        self.is_open = false;
        let results =
            self.journal.pins.as_ref().map(|pins| unpin(&mut self.writer, pins)).unwrap_or_default();
        // A journal that cannot be cleared only makes the next command look again.
        let _ = if results.iter().all(Restored::is_settled) {
            journal::clear_for_this_boot(&mut self.disk)
        } else {
            settle(&mut self.disk, &self.journal, &results)
        };
        results
    }

    fn store(&mut self) -> Result<(), PinError> {
        self.journal.pins = Some(Pins::new(&self.processes, &self.cpus, &self.ours, &self.apart));
        Ok(journal::store_for_this_boot(&mut self.disk, &self.journal).map_err(ExperimentError::Journal)?)
    }
}

impl<D: SystemWriter, K: Disk> Drop for Pinning<D, K> {
    fn drop(&mut self) {
        self.set_free();
    }
}

fn refused(id: ThreadId, cpus: &str, error: SystemWriterError) -> PinError {
    /// `EPERM`, include/uapi/asm-generic/errno-base.h, as the one below.
    const PERM: i32 = 1;
    /// `EINVAL`.
    const INVAL: i32 = 22;
    let ThreadId { process, thread, .. } = id;
    match refusal_code(&error) {
        Some(PERM) => PinError::NotOurs { process },
        Some(INVAL) => PinError::OutsideCpuset { process, thread, cpus: cpus.to_owned() },
        _ => error.into(),
    }
}
