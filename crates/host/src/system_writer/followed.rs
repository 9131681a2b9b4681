//! The threads of some processes and of all that descends from them: who a placement binds.
//!
//! A process is known by its number and its start, a thread likewise. Descendants are found by their parent; a process whose
//! parent ended has another one, so whoever follows a tree has to name each process that he has seen.

use std::collections::BTreeMap;
use std::path::Path;

use super::binding::{self, stat};
use super::text;
use crate::task_stat::Field;

/// A clock tick of procfs, the same on all x86: `USER_HZ` is 100 in include/asm-generic/param.h of Linux.
const TICK_NS: u64 = 10_000_000;

/// A process, by its number and when it started, in clock ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// Its number.
    pub process: u32,
    /// When it started.
    pub start_ticks: u64,
}

/// One thread of a process that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// Its process.
    pub process: ProcessId,
    /// The process that started its process, or who took that one's place.
    pub parent: u32,
    /// Its number.
    pub thread: u32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
    /// What it calls itself.
    pub name: String,
    /// The CPUs that it may use, as the kernel prints them.
    pub cpus: String,
    /// CPU time that it has used, in nanoseconds; in steps of 10 ms where the kernel keeps no statistics of scheduling.
    pub busy_ns: u64,
}

/// Threads of the processes that still are the ones named, and of their descendants, sorted by start.
pub(super) fn read(top: &Path, processes: &[ProcessId]) -> Vec<Followed> {
    let mut found = BTreeMap::new();
    let mut open: Vec<ProcessId> = processes.to_vec();
    let mut parents: Option<BTreeMap<u32, Vec<ProcessId>>> = None;
    while let Some(process) = open.pop() {
        if found.contains_key(&process) {
            continue;
        }
        let stat = stat(top, process.process, process.process)
            .filter(|stat| stat.number(Field::StartTicks) == Some(process.start_ticks));
        let Some(parent) = stat.and_then(|stat| stat.number(Field::Parent)) else { continue };
        let threads = binding::numbers(&top.join(format!("proc/{}/task", process.process)));
        open.extend(children(top, process.process, &threads).unwrap_or_else(|| {
            let parents = parents.get_or_insert_with(|| by_parent(top));
            parents.get(&process.process).cloned().unwrap_or_default()
        }));
        let of_thread = |thread: u32| followed(top, process, parent, thread);
        found.insert(process, threads.into_iter().filter_map(of_thread).collect::<Vec<_>>());
    }
    let mut all: Vec<Followed> = found.into_values().flatten().collect();
    all.sort_by_key(|thread| {
        (thread.process.start_ticks, thread.process.process, thread.start_ticks, thread.thread)
    });
    all
}

fn followed(top: &Path, process: ProcessId, parent: u32, thread: u32) -> Option<Followed> {
    let stat = stat(top, process.process, thread).filter(|stat| !stat.has_ended())?;
    let start_ticks = stat.number(Field::StartTicks)?;
    let cpus = binding::read_task(top, process.process, thread, start_ticks).ok()?;
    let busy_ns = scheduled_ns(top, process.process, thread).or_else(|| Some(stat.cpu_ticks()? * TICK_NS))?;
    Some(Followed { process, parent, thread, start_ticks, name: stat.name, cpus, busy_ns })
}

/// The children of all threads of a process; `None` where the kernel does not list them (without `CONFIG_PROC_CHILDREN`).
fn children(top: &Path, process: u32, threads: &[u32]) -> Option<Vec<ProcessId>> {
    let mut all = Vec::new();
    for thread in threads {
        let text = match text::read_text(&top.join(format!("proc/{process}/task/{thread}/children"))) {
            Ok(text) => text,
            // A thread that ended meanwhile has given its children to another one, which the next look finds.
            Err(_) if !top.join(format!("proc/{process}/task/{thread}")).exists() => continue,
            Err(_) => return None,
        };
        let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        all.extend(numbers.filter_map(|child| identity(top, child)));
    }
    Some(all)
}

/// The first number of `schedstat`: nanoseconds on a CPU (Documentation/scheduler/sched-stats.rst).
fn scheduled_ns(top: &Path, process: u32, thread: u32) -> Option<u64> {
    let text = text::read_text(&top.join(format!("proc/{process}/task/{thread}/schedstat"))).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn identity(top: &Path, process: u32) -> Option<ProcessId> {
    Some(ProcessId { process, start_ticks: stat(top, process, process)?.number(Field::StartTicks)? })
}

fn by_parent(top: &Path) -> BTreeMap<u32, Vec<ProcessId>> {
    let mut all: BTreeMap<u32, Vec<ProcessId>> = BTreeMap::new();
    for process in binding::numbers(&top.join("proc")) {
        let Some(stat) = stat(top, process, process) else { continue };
        if let (Some(parent), Some(start_ticks)) =
            (stat.number(Field::Parent), stat.number(Field::StartTicks))
        {
            all.entry(parent).or_default().push(ProcessId { process, start_ticks });
        }
    }
    all
}
