//! What a CPU that goes away takes with it: affinities of tasks and interrupts and CPUs of cpusets, remembered before
//! the first write, compared when the CPU is back, and put back where that is possible.
//!
//! A task or interrupt whose CPUs all go away is given others by the kernel, and a cpuset of cgroup v1 loses the CPU for
//! good (kernel/sched/core.c `select_fallback_rq`, kernel/irq/cpuhotplug.c `migrate_one_irq`, kernel/cgroup/cpuset-v1.c).
//! Only what looks like the kernel's doing is put back. Any other difference was made by somebody else: it is listed and
//! left alone, as for every value that is switched.
//!
//! Interrupts that the kernel manages come back by themselves, and then show no difference.

use std::collections::BTreeMap;
use std::io;

use host::{Bindings, Bound, Door, DoorError, Target};
use machine::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

use crate::journal::{Entry, Journal};
use crate::pins::{ThreadId, unpin};
use crate::restore::{Fate, Restored, restore};

/// The default of new interrupts: a mask where all else is a list.
const DEFAULT_INTERRUPT: &str = "proc/irq/default_smp_affinity";
const SMT_CONTROL: &str = "sys/devices/system/cpu/smt/control";

/// A file and the CPUs it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileAffinity {
    /// The file of a cpuset or an interrupt.
    pub path: String,
    /// Its text before.
    pub cpus: String,
}

/// The threads that may use the same CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskGroup {
    /// The CPUs.
    pub cpus: String,
    /// The threads, as `PROCESS/THREAD@START`, with blanks between; START is in clock ticks since boot.
    pub threads: String,
}

impl TaskGroup {
    /// Threads with their CPUs, grouped by these.
    pub(crate) fn of(threads: impl IntoIterator<Item = (ThreadId, String)>) -> Vec<Self> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (ThreadId { process, thread, start_ticks }, cpus) in threads {
            groups.entry(cpus).or_default().push(format!("{process}/{thread}@{start_ticks}"));
        }
        groups.into_iter().map(|(cpus, threads)| Self { cpus, threads: threads.join(" ") }).collect()
    }

    /// The threads.
    pub(crate) fn thread_ids(&self) -> impl Iterator<Item = ThreadId> {
        self.threads.split_whitespace().filter_map(parse_thread)
    }
}

/// What was bound to CPUs before any went away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affinities {
    /// The CPUs that were there.
    pub online: CpuSet,
    /// Those that the experiment may take away.
    pub leaving: CpuSet,
    /// The sets of CPUs that cpusets let their tasks use.
    pub confines: Vec<CpuSet>,
    /// Cpusets, parents first, then interrupts: in the order of putting back.
    pub files: Vec<FileAffinity>,
    /// Threads.
    pub tasks: Vec<TaskGroup>,
}

/// What has to be remembered before these entries are switched; `None` if no CPU that is there can go away.
///
/// # Errors
/// What is bound cannot be read.
pub fn remember(door: &mut impl Door, entries: &[Entry]) -> Result<Option<Affinities>, DoorError> {
    if !entries.iter().any(switches_cpus) {
        return Ok(None);
    }
    let bindings = door.bindings()?;
    let leaving = leaving(entries, &bindings).intersection(&bindings.online);
    if leaving.is_empty() {
        return Ok(None);
    }
    let Bindings { online, cpusets, interrupts, tasks, confines, .. } = bindings;
    let file = |bound: Bound| match bound.target {
        Target::File { path } => Some(FileAffinity { path, cpus: bound.cpus }),
        _ => None,
    };
    let files = cpusets.into_iter().chain(interrupts).filter_map(file).collect();
    Ok(Some(Affinities { online, leaving, confines, files, tasks: grouped(tasks) }))
}

fn grouped(tasks: Vec<Bound>) -> Vec<TaskGroup> {
    let thread = |Bound { target, cpus }| match target {
        Target::Task { process, thread, start_ticks } => {
            Some((ThreadId { process, thread, start_ticks }, cpus))
        }
        _ => None,
    };
    TaskGroup::of(tasks.into_iter().filter_map(thread))
}

/// The CPU of `cpuN/online`.
fn cpu_of(path: &str) -> Option<CpuId> {
    let number = path.strip_prefix("sys/devices/system/cpu/cpu")?.strip_suffix("/online")?;
    number.parse().ok().map(CpuId)
}

/// True if the entry takes CPUs away, or brings them.
fn switches_cpus(entry: &Entry) -> bool {
    matches!(&entry.target, Target::File { path } if path == SMT_CONTROL || cpu_of(path).is_some())
}

fn leaving(entries: &[Entry], bindings: &Bindings) -> CpuSet {
    let mut all = CpuSet::new();
    for entry in entries.iter().filter(|entry| entry.ours.iter().any(|value| *value != entry.old)) {
        let Target::File { path } = &entry.target else { continue };
        let cpus = match cpu_of(path) {
            Some(cpu) => [cpu].into_iter().collect(),
            None if path == SMT_CONTROL => bindings.second_threads.clone(),
            None => CpuSet::new(),
        };
        all = all.union(&cpus);
    }
    all
}

impl Affinities {
    /// Everything that is remembered with its text, in the order of putting back: cpusets, as a change of one changes
    /// its tasks, then interrupts, then threads.
    fn all(&self) -> impl Iterator<Item = (Target, &str)> {
        let file = |file: &FileAffinity| Target::File { path: file.path.clone() };
        let files = self.files.iter().map(move |have| (file(have), have.cpus.as_str()));
        let threads = self
            .tasks
            .iter()
            .flat_map(|group| group.thread_ids().map(|thread| (thread.target(), group.cpus.as_str())));
        files.chain(threads)
    }

    /// How many threads, and how many files of cpusets and interrupts.
    pub fn counts(&self) -> (usize, usize) {
        let threads = self.tasks.iter().map(|group| group.threads.split_whitespace().count()).sum();
        (threads, self.files.len())
    }

    /// Only what is still to be put back; `None` if nothing is.
    pub(crate) fn only(&self, open: &[&Target]) -> Option<Self> {
        let is_open = |target: &Target| open.contains(&target);
        let mut left = Self { files: Vec::new(), tasks: Vec::new(), ..self.clone() };
        left.files.extend(
            self.files.iter().filter(|file| is_open(&Target::File { path: file.path.clone() })).cloned(),
        );
        for group in &self.tasks {
            let threads = group.threads.split_whitespace();
            let threads: Vec<&str> = threads
                .filter(|text| parse_thread(text).is_some_and(|thread| is_open(&thread.target())))
                .collect();
            if !threads.is_empty() {
                left.tasks.push(TaskGroup { cpus: group.cpus.clone(), threads: threads.join(" ") });
            }
        }
        (left.counts() != (0, 0)).then_some(left)
    }

    /// True if both texts name the same of the CPUs that were there: a mask may name more than the machine has.
    fn is_same(&self, target: &Target, old: &str, now: &str) -> bool {
        if old == now {
            return true;
        }
        let (Some(old), Some(now)) = (cpus(target, old), cpus(target, now)) else { return false };
        old.intersection(&self.online) == now.intersection(&self.online)
    }

    /// True if the kernel made `now` of `old` because CPUs went away.
    fn is_of_the_kernel(&self, target: &Target, old: &str, now: &str) -> bool {
        if matches!(target, Target::File { path } if path == DEFAULT_INTERRUPT) {
            return false;
        }
        let (Some(old), Some(now)) = (cpus(target, old), cpus(target, now)) else { return false };
        let (old, now) = (old.intersection(&self.online), now.intersection(&self.online));
        let stays = |cpus: &CpuSet| cpus.difference(&self.leaving);
        let went = |cpus: &CpuSet| !cpus.intersection(&self.leaving).is_empty();
        // The CPUs of a cpuset that loses one are given to all its tasks anew.
        let is_confine = self.confines.iter().any(|set| went(set) && (now == *set || now == stays(set)));
        let is_shrunk = went(&old) && now == stays(&old);
        let is_fallback = old.is_subset(&self.leaving) && stays(&self.online).is_subset(&now);
        let is_thread = matches!(target, Target::Task { .. });
        is_shrunk || is_fallback || (is_thread && is_confine)
    }
}

fn cpus(target: &Target, text: &str) -> Option<CpuSet> {
    match target {
        Target::File { path } if path == DEFAULT_INTERRUPT => CpuSet::from_mask(text).ok(),
        _ => CpuSet::from_list(text).ok(),
    }
}

fn parse_thread(text: &str) -> Option<ThreadId> {
    let (process, rest) = text.split_once('/')?;
    let (thread, start) = rest.split_once('@')?;
    let (process, thread) = (process.parse().ok()?, thread.parse().ok()?);
    Some(ThreadId { process, thread, start_ticks: start.parse().ok()? })
}

/// Puts back all that a journal holds: first what was switched, then, if every CPU is back, what was bound to them, then
/// threads that were pinned. Of what was bound only differences are told.
pub fn put_back(door: &mut impl Door, journal: &Journal, force: bool) -> Vec<Restored> {
    let mut results = restore(door, &journal.entries, force);
    if let Some(affinities) = &journal.affinities
        && results.iter().all(Restored::is_settled)
    {
        results.extend(rebind(door, affinities, force));
    }
    if let Some(pins) = &journal.pins {
        results.extend(unpin(door, pins));
    }
    results
}

/// Compares what is bound now with what was, and puts back what the kernel changed; tells every difference.
pub fn rebind(door: &mut impl Door, affinities: &Affinities, force: bool) -> Vec<Restored> {
    let mut differences = Vec::new();
    for (target, old) in affinities.all() {
        if let Some(fate) = rebind_one(door, affinities, &target, old, force) {
            let entry = Entry { target, old: old.to_owned(), ours: Vec::new() };
            differences.push(Restored { entry, fate });
        }
    }
    differences
}

/// What became of one binding; `None` if it is as before, or what was bound is gone.
fn rebind_one(
    door: &mut impl Door,
    affinities: &Affinities,
    target: &Target,
    old: &str,
    force: bool,
) -> Option<Fate> {
    let now = match door.read(target) {
        Ok(now) => now,
        Err(error) if is_gone(&error) => return None,
        Err(error) => return Some(Fate::Failed(error.to_string())),
    };
    if affinities.is_same(target, old, &now) {
        return None;
    }
    if !force && !affinities.is_of_the_kernel(target, old, &now) {
        return Some(Fate::Foreign(now));
    }
    if let Err(error) = door.write(target, old) {
        return (!is_gone(&error)).then(|| Fate::Failed(refusal(target, &error)));
    }
    Some(match door.read(target) {
        Ok(after) if !affinities.is_same(target, old, &after) => {
            Fate::Failed(format!("{old} was written and {after} read back"))
        }
        Ok(_) if now.is_empty() => Fate::Failed(
            "its CPUs are back, but the kernel moved its tasks to the cpuset above; move them back by hand"
                .to_owned(),
        ),
        Ok(_) => Fate::Restored,
        Err(error) if is_gone(&error) => return None,
        Err(error) => Fate::Failed(error.to_string()),
    })
}

fn source(error: &DoorError) -> Option<&io::Error> {
    match error {
        DoorError::Read { source, .. } | DoorError::Write { source, .. } => Some(source),
        _ => None,
    }
}

/// The number of the error by which the kernel refused.
pub(crate) fn refusal_code(error: &DoorError) -> Option<i32> {
    source(error).and_then(io::Error::raw_os_error)
}

/// True if the thread ended, or the cpuset or interrupt was removed.
pub(crate) fn is_gone(error: &DoorError) -> bool {
    /// `ESRCH`, include/uapi/asm-generic/errno-base.h.
    const NO_SUCH_PROCESS: i32 = 3;
    source(error).is_some_and(|error| {
        error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
    })
}

/// Why the kernel did not take an affinity.
fn refusal(target: &Target, error: &DoorError) -> String {
    /// `EPERM`, include/uapi/asm-generic/errno-base.h, as the two below.
    const PERM: i32 = 1;
    /// `EIO`.
    const IO: i32 = 5;
    /// `EINVAL`.
    const INVAL: i32 = 22;
    let code = refusal_code(error);
    let is_interrupt = matches!(target, Target::File { path } if path.starts_with("proc/irq/"));
    let is_thread = matches!(target, Target::Task { .. });
    let why = match code {
        Some(PERM | IO) if is_interrupt => "the kernel manages this interrupt itself and takes no writes",
        Some(INVAL) if is_thread => "its cpuset holds none of these CPUs now, or the kernel binds it itself",
        _ => return error.to_string(),
    };
    format!("{error}: {why}")
}
