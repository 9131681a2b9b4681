//! Processes with their descendants and threads, as `/proc` shows them.

use std::collections::{BTreeMap, BTreeSet};

use crate::Root;
use crate::task_stat::{Field, TaskStat};

/// Every thread of the process and of all its descendants; none if it is gone.
pub fn threads_below(pid: u32) -> Vec<u32> {
    let root = Root::live();
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in numbers(&root, "/proc") {
        if let Some(parent) = parent_of(&root, process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut wanted, mut open) = (BTreeSet::new(), vec![pid]);
    while let Some(process) = open.pop() {
        if wanted.insert(process) {
            open.extend(children.get(&process).into_iter().flatten());
        }
    }
    wanted.iter().flat_map(|process| numbers(&root, &format!("/proc/{process}/task"))).collect()
}

/// True if a thread of the process has not ended; one that waits to be collected by its parent has.
pub fn is_running(pid: u32) -> bool {
    let root = Root::live();
    let runs = |thread: &u32| {
        TaskStat::read(&root, &format!("{pid}/task/{thread}")).is_some_and(|stat| !stat.has_ended())
    };
    numbers(&root, &format!("/proc/{pid}/task")).iter().any(runs)
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
    numbers(&root, "/proc").into_iter().filter(is_in).filter(|pid| is_running(*pid)).collect()
}

fn numbers(root: &Root, folder: &str) -> Vec<u32> {
    root.list(folder).into_iter().filter_map(|name| name.parse().ok()).collect()
}

fn parent_of(root: &Root, pid: u32) -> Option<u32> {
    TaskStat::read(root, &pid.to_string())?.number(Field::Parent)
}

/// A thread at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadState {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// CPU time since it began, in nanoseconds; `None` on a kernel without scheduler statistics.
    pub cpu_ns: Option<u64>,
}

/// What a thread is called and has used; `None` if it is gone.
pub fn thread_state(tid: u32) -> Option<ThreadState> {
    let root = Root::live();
    // A thread answers under its own number too, though no listing shows it: proc(5).
    let status = root.read(&format!("/proc/{tid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let pid = field("Tgid:")?.parse().ok()?;
    let statistics = root.read(&format!("/proc/{pid}/task/{tid}/schedstat")).ok();
    let cpu_ns = statistics.and_then(|text| text.split_whitespace().next()?.parse().ok());
    Some(ThreadState { pid, name: field("Name:")?, cpu_ns })
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
