//! The CPUs that a command takes for all it does: taskset or numactl in front of it.
//!
//! Its first thread then shows fewer CPUs than it began with, and nobody in the tree shows others. A program whose first thread
//! binds only itself has threads outside of that, and takes nothing.

use host::{Followed, ProcessId};
use machine::CpuSet;

/// What the looks at one run have shown so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CpuLimit {
    first: ProcessId,
    began_with: CpuSet,
    taken: Option<CpuSet>,
    /// True once somebody was outside of what the first thread took.
    is_own_choice: bool,
}

impl CpuLimit {
    /// Of a tree with this process at the top, which was started with these CPUs. That is before anybody could look: taskset may
    /// be done by the first look.
    pub(super) fn of(first: ProcessId, began_with: CpuSet) -> Self {
        Self { first, began_with, taken: None, is_own_choice: false }
    }

    /// Takes in what a look found while nobody was bound by us.
    pub(super) fn look<'a>(&mut self, threads: &(impl Iterator<Item = &'a Followed> + Clone)) {
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
    pub(super) fn taken(&self) -> Option<&CpuSet> {
        self.taken.as_ref().filter(|_| !self.is_own_choice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::thread_table::thread;
    use super::*;

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
