//! Keeps an arrangement true in a live process tree: looks often while threads come, seldom while nothing changes.

use std::thread;
use std::time::{Duration, Instant};

use host::live::{allowed_cpus, process_start_ticks};
use host::{Followed, MachineWriter, ProcessId, SystemWriter};
use machine::CpuSet;
use toggles::{PinError, PinHold, PinIntent, PinnedTree, Restored, ThreadId};

use super::arrangement::Arrangement;
use super::thread_table::{Counted, Member, ThreadTable};

/// The next look after one that found something new.
const SOON: Duration = Duration::from_millis(2);
/// The longest time between two looks; each quiet look doubles it up to here.
const LATE: Duration = Duration::from_millis(64);
/// From so many threads on, a look itself takes milliseconds: they are made as seldom as can be.
const MANY_THREADS: usize = 500;

/// One run of a program whose threads are kept where an arrangement wants them.
#[derive(Debug)]
pub struct Follower {
    arrangement: Arrangement,
    tree: PinnedTree,
    /// What threads may use that the arrangement leaves free.
    free: CpuSet,
    limit: CpuLimit,
    /// Everybody who was seen.
    pub table: ThreadTable,
    began: Instant,
    /// When the tree was last seen to be there.
    last_seen: Instant,
    pause: Duration,
    /// True if everybody has to be bound anew.
    is_due: bool,
    /// True if somebody may be bound.
    was_placed: bool,
    is_over: bool,
}

impl Follower {
    /// Journals the tree of this process; `sets` are all sets of CPUs that any arrangement of the experiment names.
    ///
    /// # Errors
    /// A process that has ended, a journal that was left, or a disk that does not keep one.
    pub fn begin(
        hold: &PinHold,
        process: u32,
        label: &str,
        sets: &[CpuSet],
        arrangement: Arrangement,
    ) -> Result<Self, PinError> {
        let start_ticks = process_start_ticks(process).ok_or(PinError::Gone(process))?;
        let id = ProcessId { process, start_ticks };
        let mut table = ThreadTable::default();
        // Before anything is written: a short program may be over by then.
        if let Ok(threads) = MachineWriter::live().threads(&[id]) {
            table.enter(&threads);
        }
        let intent = PinIntent { label, process: id, sets };
        let tree = hold.begin(&intent)?;
        let free = CpuSet::from_list(tree.cpus()).unwrap_or_default();
        let limit = CpuLimit::of(id, allowed_cpus());
        let began = Instant::now();
        Ok(Self {
            arrangement,
            tree,
            free,
            limit,
            table,
            began,
            last_seen: began,
            pause: SOON,
            is_due: true,
            was_placed: false,
            is_over: false,
        })
    }

    /// Looks once and binds who is not where he belongs; how long until the next look.
    ///
    /// # Errors
    /// The kernel refuses, or the journal cannot be kept; everything is free then.
    pub fn look(&mut self) -> Result<Duration, PinError> {
        let seen = self.tree.look()?;
        let is_news = self.table.enter(seen.iter().map(|seen| &seen.thread));
        for apart in seen.iter().filter(|seen| seen.is_apart) {
            self.table.set_apart(&apart.thread);
        }
        if !seen.is_empty() {
            self.last_seen = Instant::now();
        }
        self.is_over = seen.is_empty();
        let is_placed = !self.arrangement.cpus.is_empty();
        if !is_placed && !self.was_placed {
            self.limit.look(&seen.iter().map(|seen| &seen.thread));
        }
        if (self.is_due && (is_placed || self.was_placed)) || (is_news && is_placed) {
            let required: Vec<(ThreadId, CpuSet)> = self
                .table
                .keyed()
                .into_iter()
                .filter(|(_, member)| member.is_there)
                .map(|(key, member)| (member.id, self.arrangement.of(&key).unwrap_or(&self.free).clone()))
                .collect();
            self.tree.pin(&required)?;
            self.is_due = false;
            self.was_placed = is_placed;
        }
        self.pause = match (is_news, seen.len() > MANY_THREADS) {
            (_, true) => LATE,
            (true, false) => SOON,
            (false, false) => (self.pause * 2).min(LATE),
        };
        Ok(self.pause)
    }

    /// Changes what is wanted; the next look makes it hold.
    ///
    /// # Errors
    /// As for [`Follower::look`].
    pub fn rearrange(&mut self, arrangement: Arrangement) -> Result<(), PinError> {
        // Threads that the old one bound and the new one does not know are set free by it as well.
        self.is_due = true;
        self.arrangement = arrangement;
        self.look().map(|_| ())
    }

    /// What the first thread could use when it was first seen, and all may use that the arrangement leaves free.
    pub fn free(&self) -> &CpuSet {
        &self.free
    }

    /// What a program that this process started took for all of its threads, if that is not all it was given.
    pub fn taken(&self) -> Option<&CpuSet> {
        self.limit.taken()
    }

    /// True once no thread of the tree is left.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Looks until the time is over, the tree has ended, or `must_stop` says so.
    ///
    /// # Errors
    /// As for [`Follower::look`].
    pub fn look_for(&mut self, time: Duration, must_stop: impl Fn() -> bool) -> Result<(), PinError> {
        let started = Instant::now();
        loop {
            let pause = self.look()?;
            let left = time.saturating_sub(started.elapsed());
            if left.is_zero() || self.is_over || must_stop() {
                return Ok(());
            }
            thread::sleep(pause.min(left));
        }
    }

    /// From now on CPU time is counted anew, and who has ended is forgotten.
    pub fn recount(&mut self) {
        self.table.recount();
        self.began = Instant::now();
        self.last_seen = self.began;
    }

    /// Everybody who was seen. Of a program that took fewer CPUs for all of its threads those are apart that have others.
    pub fn census(&self) -> Vec<Counted> {
        let members = self.table.keyed();
        let busy_s = |member: &Member| member.busy_ns[1].saturating_sub(member.busy_ns[0]) as f64 / 1e9;
        // A thread begins before the first look at it, and is on one CPU at a time: so long it was, whoever saw it.
        let seen_s = self.last_seen.duration_since(self.began).as_secs_f64();
        let seconds = at_least(seen_s, members.iter().map(|(_, member)| busy_s(member)));
        let share = |member: &Member| busy_s(member) / seconds;
        let taken = self.taken().map(ToString::to_string);
        let is_apart =
            |member: &Member| member.is_apart && taken.as_ref().is_none_or(|taken| member.cpus != *taken);
        let counted = |(key, member): (_, &Member)| Counted {
            key,
            id: member.id,
            cpu_share: share(member),
            is_apart: is_apart(member),
        };
        members.into_iter().map(counted).collect()
    }

    /// Processes that still run, once the first has ended: what a program left behind.
    ///
    /// # Errors
    /// As for [`Follower::look`].
    pub fn left_behind(&mut self) -> Result<Vec<u32>, PinError> {
        let seen = self.tree.look()?;
        let mut processes: Vec<u32> = seen.iter().map(|seen| seen.thread.process.process).collect();
        processes.dedup();
        Ok(processes)
    }

    /// Sets everybody free, and tells who could not be.
    pub fn release(self) -> Vec<Restored> {
        self.tree.release()
    }
}

/// The time that threads were seen for, in seconds, by the looks and by what each used of a CPU; never 0.
fn at_least(seen_s: f64, busy_s: impl Iterator<Item = f64>) -> f64 {
    busy_s.fold(seen_s, f64::max).max(f64::MIN_POSITIVE)
}

/// What the looks at one run have shown so far.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CpuLimit {
    first: ProcessId,
    began_with: CpuSet,
    taken: Option<CpuSet>,
    /// True once somebody was outside of what the first thread took.
    is_own_choice: bool,
}

impl CpuLimit {
    /// Of a tree with this process at the top, which was started with these CPUs. That is before anybody could look: taskset may
    /// be done by the first look.
    fn of(first: ProcessId, began_with: CpuSet) -> Self {
        Self { first, began_with, taken: None, is_own_choice: false }
    }

    /// Takes in what a look found while nobody was bound by us.
    fn look<'a>(&mut self, threads: &(impl Iterator<Item = &'a Followed> + Clone)) {
        let is_first =
            |thread: &&Followed| thread.process == self.first && thread.thread == self.first.process;
        let Some(first) = threads.clone().find(is_first) else { return };
        let Ok(limit) = CpuSet::from_list(&first.cpus) else { return };
        if limit == self.began_with {
            self.taken = None;
            return;
        }
        let is_inside = |thread: &Followed| {
            // Most show the very same list.
            thread.cpus == first.cpus
                || CpuSet::from_list(&thread.cpus).is_ok_and(|cpus| cpus.is_subset(&limit))
        };
        self.is_own_choice |= !threads.clone().all(is_inside);
        self.taken = Some(limit);
    }

    /// What it took; `None` if it kept what it began with.
    fn taken(&self) -> Option<&CpuSet> {
        self.taken.as_ref().filter(|_| !self.is_own_choice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::thread_table::thread;
    use super::*;

    #[test]
    fn nobody_is_busy_for_longer_than_he_was_there() {
        for (seen_s, busy_s, expected) in
            [(2.0, vec![1.0, 0.5], 2.0), (0.0, vec![0.001], 0.001), (0.01, vec![0.1], 0.1)]
        {
            assert!((at_least(seen_s, busy_s.into_iter()) - expected).abs() < 1e-12);
        }
        assert!(at_least(0.0, std::iter::empty()) > 0.0);
    }

    /// Looks, each with the CPUs of the threads 10, 11, ...; what was taken.
    fn taken(looks: &[&[&str]]) -> Option<String> {
        let mut limit = CpuLimit::of(
            ProcessId { process: 10, start_ticks: 10 },
            CpuSet::from_list("0-3").expect("a list"),
        );
        for cpus in looks {
            let of_thread = |(number, cpus): (u32, &&str)| Followed {
                cpus: (*cpus).to_owned(),
                ..thread(10, number, u64::from(number), "w")
            };
            let threads: Vec<Followed> = (10..).zip(cpus.iter()).map(of_thread).collect();
            limit.look(&threads.iter());
        }
        limit.taken().map(ToString::to_string)
    }

    #[test]
    fn what_the_first_thread_takes_counts_if_all_keep_to_it() {
        let rows: [(&[&[&str]], Option<&str>); 7] = [
            (&[&["0-3"], &["0-3", "0-3"]], None),
            (&[&["0-3"], &["0-1"], &["0-1", "0-1", "1"]], Some("0-1")),
            (&[&["2"], &[]], Some("2")),
            (&[&["0-3", "0-3"], &["0", "0-3"]], None),
            (&[&["0", "1", "2"]], None),
            (&[&["0"], &["0", "1"], &["0"]], None),
            (&[&["0"], &["1"], &["0-3"]], None),
        ];
        for (looks, expected) in rows {
            assert_eq!(taken(looks).as_deref(), expected, "{looks:?}");
        }
    }
}
