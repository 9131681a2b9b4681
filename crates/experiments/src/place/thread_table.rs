//! Threads that are known again in the next run: by their process, their name, and their place among threads of that name.
//!
//! Numbers change from run to run; the order in which a program makes its processes and threads mostly does not. A process is
//! known by its place in the order of starts, a thread by its name and its place, in the same order, among all threads of that
//! name that its process ever had, so that one that ended keeps its place. Names may be given after the start and change:
//! the last one counts. In a process that is followed for long, threads that ended are forgotten from time to time: the numbers of those
//! that are kept stay, and go on behind those that were forgotten. The kernel's clock of starts has steps of 10 ms; within one step the number decides, which rises with
//! every thread that the kernel makes, until it wraps.

use std::collections::{BTreeMap, BTreeSet};

use host::{Followed, ProcessId};
use toggles::ThreadId;

/// What a thread is called in every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its process, counted from 0 by start.
    pub process: usize,
    /// Its name.
    pub name: String,
    /// Its place among threads of that name in its process, counted from 0 by start.
    pub nth: usize,
}

/// A thread that was seen in a run, and what it used.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// What it is called in every run.
    pub key: Key,
    /// Its numbers in this one.
    pub id: ThreadId,
    /// CPU time over wall time.
    pub cpu_share: f64,
    /// True if it had or chose CPUs of its own.
    pub is_apart: bool,
}

/// One thread of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its numbers.
    pub id: ThreadId,
    /// Its process.
    pub process: ProcessId,
    /// What it calls itself.
    pub name: String,
    /// CPU time in nanoseconds from which on it is counted, and at the last look: what a thread did before the first look is its own, too.
    pub busy_ns: [u64; 2],
    /// The CPUs that it showed last, as the kernel prints them.
    pub cpus: String,
    /// True if it had or chose CPUs of its own.
    pub is_apart: bool,
    /// True if the last look saw it.
    pub is_there: bool,
    /// Its process and place when others were last forgotten, and its name then.
    kept_as: Option<Key>,
}

/// Threads that came and went since the last recount, as far as a look saw them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turnover {
    /// They were not there at the recount.
    pub began: usize,
    /// They are not there any more.
    pub ended: usize,
}

/// Everybody who was seen in one run and is not forgotten.
#[derive(Debug, Clone, Default)]
pub struct ThreadTable {
    members: BTreeMap<StartOrder, Member>,
    /// Since somebody was forgotten: the number of each process that was kept.
    processes: BTreeMap<ProcessOrder, usize>,
    /// The number of the next one.
    next_process: usize,
    /// The places that go on, by process and name.
    next: BTreeMap<(usize, String), usize>,
}

/// Places of so many names go on; of more only those that somebody has: threads may each have a name of their own.
const NAMES_MAX: usize = 4096;

type ProcessOrder = (u64, u32);
/// In the order of starts.
type StartOrder = (ProcessOrder, u64, u32);

fn start_order(thread: &Followed) -> StartOrder {
    ((thread.process.start_ticks, thread.process.process), thread.start_ticks, thread.thread)
}

impl ThreadTable {
    /// Enters what a look found; true if somebody is new, has another name, or is gone.
    pub fn enter<'a>(&mut self, found: impl IntoIterator<Item = &'a Followed>) -> bool {
        let mut is_news = false;
        let mut gone: BTreeSet<_> =
            self.members.iter().filter(|(_, member)| member.is_there).map(|(key, _)| *key).collect();
        for thread in found {
            let key = start_order(thread);
            gone.remove(&key);
            let member = self.members.entry(key).or_insert_with(|| {
                is_news = true;
                Member {
                    id: ThreadId::of(thread),
                    process: thread.process,
                    name: thread.name.clone(),
                    busy_ns: [0, thread.busy_ns],
                    cpus: String::new(),
                    is_apart: false,
                    is_there: true,
                    kept_as: None,
                }
            });
            member.cpus.clone_from(&thread.cpus);
            is_news |= member.name != thread.name;
            member.name.clone_from(&thread.name);
            member.busy_ns[1] = thread.busy_ns;
        }
        is_news |= !gone.is_empty();
        for key in gone {
            if let Some(member) = self.members.get_mut(&key) {
                member.is_there = false;
            }
        }
        is_news
    }

    /// Remembers that a thread had or chose CPUs of its own.
    pub fn set_apart(&mut self, thread: &Followed) {
        if let Some(member) = self.members.get_mut(&start_order(thread)) {
            member.is_apart = true;
        }
    }

    /// CPU time is counted from here on, as in a process that ran before it was looked at; who is gone is forgotten.
    pub fn recount(&mut self) {
        let mut kept: BTreeMap<StartOrder, Key> = BTreeMap::new();
        let (mut processes, mut next, mut next_process) =
            (BTreeMap::new(), self.next.clone(), self.next_process);
        let places: Vec<StartOrder> = self.members.keys().copied().collect();
        for (place, (key, member)) in places.into_iter().zip(self.keyed()) {
            next_process = next_process.max(key.process + 1);
            let number = next.entry((key.process, key.name.clone())).or_default();
            *number = (*number).max(key.nth + 1);
            if member.is_there {
                processes.insert(place.0, key.process);
                kept.insert(place, key);
            }
        }
        let there: BTreeSet<usize> = processes.values().copied().collect();
        next.retain(|(process, _), _| there.contains(process));
        if next.len() > NAMES_MAX {
            let names: BTreeSet<(usize, &str)> =
                kept.values().map(|key| (key.process, key.name.as_str())).collect();
            next.retain(|(process, name), _| names.contains(&(*process, name.as_str())));
        }
        (self.processes, self.next, self.next_process) = (processes, next, next_process);
        self.members.retain(|place, member| {
            member.kept_as = kept.remove(place);
            member.busy_ns[0] = member.busy_ns[1];
            member.kept_as.is_some()
        });
    }

    /// Everybody, with the key, in the order of starts.
    pub fn keyed(&self) -> Vec<(Key, &Member)> {
        let mut processes: BTreeMap<ProcessOrder, usize> = BTreeMap::new();
        let mut count: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut all = Vec::with_capacity(self.members.len());
        for ((process, ..), member) in &self.members {
            let newest = self.next_process + processes.len();
            let process = match self.processes.get(process) {
                Some(number) => *number,
                None => *processes.entry(*process).or_insert(newest),
            };
            let key = match &member.kept_as {
                Some(key) if key.name == member.name => key.clone(),
                _ => {
                    let first =
                        || self.next.get(&(process, member.name.clone())).copied().unwrap_or_default();
                    let nth = count.entry((process, &member.name)).or_insert_with(first);
                    *nth += 1;
                    Key { process, name: member.name.clone(), nth: *nth - 1 }
                }
            };
            all.push((key, member));
        }
        all
    }

    /// Who came and went since the last recount.
    pub fn turnover(&self) -> Turnover {
        let count = |is: fn(&Member) -> bool| self.members.values().filter(|member| is(member)).count();
        Turnover { began: count(|member| member.kept_as.is_none()), ended: count(|member| !member.is_there) }
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True if nobody is.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

#[cfg(test)]
pub(super) fn thread(process: u32, thread: u32, start_ticks: u64, name: &str) -> Followed {
    Followed {
        process: ProcessId { process, start_ticks: u64::from(process) },
        parent: 1,
        thread,
        start_ticks,
        name: name.to_owned(),
        cpus: "0-1".to_owned(),
        busy_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(table: &ThreadTable) -> Vec<String> {
        table.keyed().iter().map(|(key, _)| format!("{}:{}:{}", key.process, key.name, key.nth)).collect()
    }

    #[test]
    fn threads_are_known_by_process_name_and_order_whatever_their_numbers() {
        let (mut first, mut second) = (ThreadTable::default(), ThreadTable::default());
        first.enter(&[
            thread(10, 10, 5, "m"),
            thread(10, 11, 6, "w"),
            thread(10, 12, 6, "w"),
            thread(20, 20, 7, "w"),
        ]);
        second.enter(&[
            thread(90, 93, 8, "w"),
            thread(90, 90, 5, "m"),
            thread(90, 92, 8, "w"),
            thread(95, 95, 9, "w"),
        ]);
        assert_eq!(keys(&first), ["0:m:0", "0:w:0", "0:w:1", "1:w:0"]);
        assert_eq!(keys(&first), keys(&second));
    }

    #[test]
    fn cpu_time_counts_from_the_start_of_a_thread_or_from_where_it_is_asked_to() {
        let mut table = ThreadTable::default();
        let busy = |busy_ns| Followed { busy_ns, ..thread(10, 10, 5, "m") };
        table.enter(&[busy(3)]);
        table.enter(&[busy(7)]);
        let counted = |table: &ThreadTable| table.keyed()[0].1.busy_ns;
        assert_eq!(counted(&table), [0, 7]);
        table.recount();
        table.enter(&[busy(9)]);
        assert_eq!(counted(&table), [7, 9]);
    }

    #[test]
    fn who_ended_keeps_his_place_and_a_new_name_makes_a_new_key() {
        let mut table = ThreadTable::default();
        assert!(table.enter(&[thread(10, 10, 5, "m"), thread(10, 11, 6, "w"), thread(10, 12, 7, "m")]));
        assert!(!table.enter(&[thread(10, 10, 5, "m"), thread(10, 11, 6, "w"), thread(10, 12, 7, "m")]));
        assert!(table.enter(&[thread(10, 10, 5, "m"), thread(10, 12, 7, "w")]), "one is gone, one renamed");
        assert_eq!(keys(&table), ["0:m:0", "0:w:0", "0:w:1"]);
        assert_eq!(table.keyed().iter().filter(|(_, member)| member.is_there).count(), 2);
    }

    #[test]
    fn who_ended_is_forgotten_at_a_recount_and_the_others_keep_their_keys() {
        let mut table = ThreadTable::default();
        let main = thread(10, 10, 5, "m");
        let worker = |number: u32| thread(10, number, u64::from(number), "w");
        table.enter(&[main.clone(), worker(11), worker(12), worker(13), thread(20, 20, 14, "w")]);
        table.enter(&[main.clone(), worker(12), worker(13), thread(30, 30, 15, "w")]);
        table.recount();
        assert_eq!(
            keys(&table),
            ["0:m:0", "0:w:1", "0:w:2", "2:w:0"],
            "a worker and a process are forgotten"
        );
        let renamed = Followed { name: "io".to_owned(), ..worker(12) };
        table.enter(&[main.clone(), renamed.clone(), worker(13), worker(16), thread(40, 40, 17, "w")]);
        assert_eq!(keys(&table), ["0:m:0", "0:io:0", "0:w:2", "0:w:3", "2:w:0", "3:w:0"]);
        table.recount();
        table.recount();
        assert_eq!(keys(&table), ["0:m:0", "0:io:0", "0:w:2", "0:w:3", "3:w:0"]);
        table.enter(std::slice::from_ref(&main));
        table.recount();
        table.enter(&[main, worker(18)]);
        assert_eq!(keys(&table), ["0:m:0", "0:w:4"], "behind all that were forgotten");
    }

    #[test]
    fn who_comes_and_goes_is_counted_from_the_last_recount_on() {
        let mut table = ThreadTable::default();
        let worker = |number: u32| thread(10, number, u64::from(number), "w");
        let turnover = |began, ended| Turnover { began, ended };
        table.enter(&[worker(11), worker(12)]);
        table.recount();
        assert_eq!(table.turnover(), turnover(0, 0));
        table.enter(&[worker(11), worker(13)]);
        table.enter(&[worker(11), worker(14)]);
        assert_eq!(table.turnover(), turnover(2, 2), "13 did both");
        table.recount();
        assert_eq!(table.turnover(), turnover(0, 0));
    }

    #[test]
    fn threads_that_come_and_go_take_no_more_memory_than_those_that_are_there() {
        let mut table = ThreadTable::default();
        for number in 11..20_011 {
            let name = if number % 2 == 0 { "w".to_owned() } else { format!("w{number}") };
            table.enter(&[thread(10, 10, 5, "m"), thread(10, number, u64::from(number), &name)]);
            if number % 100 == 0 {
                table.recount();
                assert!(table.len() == 2 && table.next.len() <= NAMES_MAX + 100, "{number}");
            }
        }
        let last = table.keyed().pop().expect("the last one").0;
        assert_eq!((last.name.as_str(), last.nth), ("w", 9_999), "every other one had that name");
    }

    #[test]
    fn processes_that_come_and_go_are_forgotten_as_well() {
        let mut table = ThreadTable::default();
        for number in 11..2_011 {
            table.enter(&[thread(10, 10, 5, "m"), thread(number, number, u64::from(number), "w")]);
            table.recount();
            assert!(table.len() == 2 && table.processes.len() == 2 && table.next.len() == 2);
        }
        assert_eq!(keys(&table), ["0:m:0", "2000:w:0"]);
    }
}
