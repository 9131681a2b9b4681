//! Processes with their descendants and threads, as `/proc` shows them; who a placement binds.
//!
//! A process is known by its number and its start, a thread likewise. Descendants are found by their parent; a process whose
//! parent ended has another one, so whoever follows a tree has to name each process that he has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::Root;
use crate::root::value_of;
use crate::task_stat::{Field, TaskStat, ran_and_waited_ns};

/// Every thread of the process and of all its descendants; none if it is gone.
pub fn threads_below(pid: u32) -> Vec<u32> {
    let root = Root::live();
    let children = by_parent(&root);
    let (mut seen, mut open) = (BTreeSet::new(), vec![pid]);
    while let Some(process) = open.pop() {
        if seen.insert(process) {
            open.extend(children.get(&process).into_iter().flatten().map(|child| child.process));
        }
    }
    seen.iter().flat_map(|process| root.numbers(&format!("/proc/{process}/task"), "")).collect()
}

/// True if a thread of the process has not ended; one that waits to be collected by its parent has.
pub fn is_running(pid: u32) -> bool {
    let root = Root::live();
    let runs = |thread: &u32| {
        TaskStat::read(&root, &format!("{pid}/task/{thread}")).is_some_and(|stat| !stat.has_ended())
    };
    root.numbers(&format!("/proc/{pid}/task"), "").iter().any(runs)
}

/// True if the process is stopped, as one in the background is that reads from a terminal.
pub fn is_stopped(pid: u32) -> bool {
    TaskStat::read(&Root::live(), &pid.to_string()).is_some_and(|stat| stat.is_stopped())
}

/// True if `top` started the process, or one that started it, and so on; of itself too.
pub fn is_below(pid: u32, top: u32) -> bool {
    let root = Root::live();
    let (mut seen, mut next) = (BTreeSet::new(), Some(pid));
    // Numbers may be given anew meanwhile, so that the way up need not have an end.
    while let Some(process) = next.filter(|process| seen.insert(*process)) {
        if process == top {
            return true;
        }
        next = parent_of(&root, process);
    }
    false
}

/// The processes of a group that have not ended, but for the one that the group is named after.
pub fn running_in_group(group: u32) -> Vec<u32> {
    let root = Root::live();
    let is_in = |pid: &u32| {
        let stat = TaskStat::read(&root, &pid.to_string()).filter(|_| *pid != group);
        stat.and_then(|stat| stat.number(Field::Group)) == Some(group)
    };
    root.numbers("/proc", "").into_iter().filter(is_in).filter(|pid| is_running(*pid)).collect()
}

fn parent_of(root: &Root, pid: u32) -> Option<u32> {
    TaskStat::read(root, &pid.to_string())?.number(Field::Parent)
}

/// A thread at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadState {
    /// Its process.
    pub pid: u32,
    pub name: String,
    /// CPU time since it began, in nanoseconds; `None` on a kernel without scheduler statistics.
    pub cpu_ns: Option<u64>,
}

/// What a thread is called and has used; `None` if it is gone.
pub fn thread_state(tid: u32) -> Option<ThreadState> {
    let root = Root::live();
    // A thread answers under its own number too, though no listing shows it: proc(5).
    let status = root.read(&format!("/proc/{tid}/status")).ok()?;
    let pid = value_of(&status, "Tgid")?.parse().ok()?;
    let name = value_of(&status, "Name")?.to_owned();
    Some(ThreadState { pid, name, cpu_ns: ran_ns(&root, pid, tid) })
}

/// What `stat` of a thread tells.
pub(crate) fn task(root: &Root, process: u32, thread: u32) -> Option<TaskStat> {
    TaskStat::read(root, &format!("{process}/task/{thread}"))
}

/// The affinity of a thread, offline CPUs included; `NotFound` if it is gone, or its number is another thread's.
pub(crate) fn affinity_of(root: &Root, process: u32, thread: u32, start_ticks: u64) -> io::Result<String> {
    let is_it =
        task(root, process, thread).and_then(|stat| stat.number(Field::StartTicks)) == Some(start_ticks);
    // The file vanishes with the thread, and one that is just ending reads as "no such process".
    let status = root.read(&format!("/proc/{process}/task/{thread}/status")).ok().filter(|_| is_it);
    let cpus = status.as_deref().and_then(|text| value_of(text, "Cpus_allowed_list"));
    cpus.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Nanoseconds that a thread has been on a CPU; `None` on a kernel without scheduler statistics.
fn ran_ns(root: &Root, process: u32, thread: u32) -> Option<u64> {
    ran_and_waited_ns(&root.read(&format!("/proc/{process}/task/{thread}/schedstat")).ok()?)
        .map(|[ran, _]| ran)
}

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
pub(crate) fn followed_threads(root: &Root, processes: &[ProcessId]) -> Vec<Followed> {
    let mut found = BTreeMap::new();
    let mut open: Vec<ProcessId> = processes.to_vec();
    let mut parents: Option<BTreeMap<u32, Vec<ProcessId>>> = None;
    while let Some(process) = open.pop() {
        if found.contains_key(&process) {
            continue;
        }
        let stat = task(root, process.process, process.process)
            .filter(|stat| stat.number(Field::StartTicks) == Some(process.start_ticks));
        let Some(parent) = stat.and_then(|stat| stat.number(Field::Parent)) else { continue };
        let threads = root.numbers(&format!("/proc/{}/task", process.process), "");
        open.extend(children(root, process.process, &threads).unwrap_or_else(|| {
            let parents = parents.get_or_insert_with(|| by_parent(root));
            parents.get(&process.process).cloned().unwrap_or_default()
        }));
        let of_thread = |thread: u32| followed(root, process, parent, thread);
        found.insert(process, threads.into_iter().filter_map(of_thread).collect::<Vec<_>>());
    }
    let mut all: Vec<Followed> = found.into_values().flatten().collect();
    all.sort_by_key(|thread| {
        (thread.process.start_ticks, thread.process.process, thread.start_ticks, thread.thread)
    });
    all
}

fn followed(root: &Root, process: ProcessId, parent: u32, thread: u32) -> Option<Followed> {
    let stat = task(root, process.process, thread).filter(|stat| !stat.has_ended())?;
    let start_ticks = stat.number(Field::StartTicks)?;
    let cpus = affinity_of(root, process.process, thread, start_ticks).ok()?;
    let busy_ns = ran_ns(root, process.process, thread).or_else(|| Some(stat.cpu_ticks()? * TICK_NS))?;
    Some(Followed { process, parent, thread, start_ticks, name: stat.name, cpus, busy_ns })
}

/// The children of all threads of a process; `None` where the kernel does not list them (without `CONFIG_PROC_CHILDREN`).
fn children(root: &Root, process: u32, threads: &[u32]) -> Option<Vec<ProcessId>> {
    let mut all = Vec::new();
    for thread in threads {
        let folder = format!("/proc/{process}/task/{thread}");
        let text = match root.read(&format!("{folder}/children")) {
            Ok(text) => text,
            // A thread that ended meanwhile has given its children to another one, which the next look finds.
            Err(_) if !root.exists(&folder) => continue,
            Err(_) => return None,
        };
        let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        all.extend(numbers.filter_map(|child| identity(root, child)));
    }
    Some(all)
}

fn identity(root: &Root, process: u32) -> Option<ProcessId> {
    Some(ProcessId { process, start_ticks: task(root, process, process)?.number(Field::StartTicks)? })
}

fn by_parent(root: &Root) -> BTreeMap<u32, Vec<ProcessId>> {
    let mut all: BTreeMap<u32, Vec<ProcessId>> = BTreeMap::new();
    for process in root.numbers("/proc", "") {
        let Some(stat) = task(root, process, process) else { continue };
        if let (Some(parent), Some(start_ticks)) =
            (stat.number(Field::Parent), stat.number(Field::StartTicks))
        {
            all.entry(parent).or_default().push(ProcessId { process, start_ticks });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_threads_and_no_process_has_none() {
        let own = std::process::id();
        assert!(threads_below(own).contains(&own));
        assert_eq!(threads_below(u32::MAX), Vec::<u32>::new());
        assert!(is_running(own) && !is_running(u32::MAX));
        let parent = std::os::unix::process::parent_id();
        assert!(is_below(own, own) && is_below(own, parent) && !is_below(parent, own));
        assert!(!is_below(own, u32::MAX) && !is_below(u32::MAX, own));
        let state = thread_state(own).expect("it runs");
        assert!(state.pid == own && !state.name.is_empty());
        assert_eq!(thread_state(u32::MAX), None);
    }

    #[test]
    fn who_stays_in_a_group_is_found_when_its_first_has_ended() {
        use std::os::unix::process::CommandExt;
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "sleep 600 & echo $!"]).process_group(0).stdout(std::process::Stdio::piped());
        let mut shell = shell.spawn().expect("every Linux has sh");
        let (mut line, output) = (String::new(), shell.stdout.take().expect("it is piped"));
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
        let sleeper: u32 = line.trim().parse().expect("a number");
        shell.wait().expect("it is ours");
        assert_eq!(running_in_group(shell.id()), [sleeper]);
        std::process::Command::new("kill").args(["-9", line.trim()]).status().expect("every Linux has kill");
    }

    #[test]
    fn a_process_that_waits_to_be_collected_runs_no_more() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut child = std::process::Command::new("true").stdout(writer).spawn().expect("true is there");
        // The pipe ends when the last process that could write to it has.
        std::io::read_to_string(reader).expect("it ends");
        let mut looks = 0;
        while is_running(child.id()) {
            looks += 1;
            assert!(looks < 1_000_000, "it closed its files and goes on");
            std::thread::yield_now();
        }
        assert!(child.wait().expect("it is ours").success());
    }
}
