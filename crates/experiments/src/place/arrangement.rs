//! Threads on CPUs: what a placement is once it is decided.

use std::collections::BTreeMap;

use machine::CpuSet;

use super::cpu_slots::CpuSlots;
use super::thread_table::Key;

/// Where threads go. Without any it is the kernel's own placement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrangement {
    /// CPUs by thread.
    pub cpus: BTreeMap<Key, CpuSet>,
}

impl Arrangement {
    /// Each thread on the CPU of its slot: an index into [`CpuSlots::cpus`].
    pub fn in_slots(threads: &[Key], slot_of: &[usize], slots: &CpuSlots) -> Self {
        let cpu = |slot: &usize| [slots.cpus[*slot]].into_iter().collect::<CpuSet>();
        Self { cpus: threads.iter().cloned().zip(slot_of.iter().map(cpu)).collect() }
    }

    /// Where a thread goes. One that was not profiled goes where all threads of its process and name do, if they go to the same
    /// CPUs, and one of a process that came later where all threads of its name do; else it is free.
    pub fn of(&self, key: &Key) -> Option<&CpuSet> {
        if let Some(cpus) = self.cpus.get(key) {
            return Some(cpus);
        }
        let is_new = self.cpus.keys().next_back().is_some_and(|last| last.process < key.process);
        let is_alike = |other: &Key| other.name == key.name && (is_new || other.process == key.process);
        let mut alike = self.cpus.iter().filter(|(other, _)| is_alike(other)).map(|(_, cpus)| cpus);
        let cpus = alike.next()?;
        alike.all(|other| other == cpus).then_some(cpus)
    }

    /// Every set of CPUs that it names, once each.
    pub fn sets(&self) -> Vec<CpuSet> {
        let mut sets: Vec<CpuSet> = Vec::new();
        for cpus in self.cpus.values() {
            if !sets.contains(cpus) {
                sets.push(cpus.clone());
            }
        }
        sets
    }
}

/// CpuSlots that hold neighbours in the order of creation together: the first few on the first CPU, and so on.
pub fn packed(threads: usize, slots: usize) -> Vec<usize> {
    let each = threads.div_ceil(slots.max(1)).max(1);
    (0..threads).map(|thread| thread / each).collect()
}

/// CpuSlots dealt out in the order of creation, each as far as can be from the ones before.
pub fn spread(threads: usize, slots: &CpuSlots) -> Vec<usize> {
    let order = slots.far_apart();
    let slot = |thread: usize| {
        let cpu = order[thread % order.len()];
        slots.cpus.iter().position(|have| *have == cpu).expect("the same CPUs in another order")
    };
    (0..threads).map(slot).collect()
}

/// CpuSlots that hold the first with the last in the order of creation, the second with the last but one, and so on.
pub fn crossed(threads: usize, slots: usize) -> Vec<usize> {
    let half = threads.div_ceil(2);
    let groups = packed(half, slots);
    (0..threads).map(|thread| groups[if thread < half { thread } else { threads - 1 - thread }]).collect()
}

/// True if both put the same threads together: on CPUs that are alike it does not matter on which.
pub fn is_same_grouping(one: &[usize], other: &[usize]) -> bool {
    let canonical = |slots: &[usize]| {
        let mut seen: Vec<usize> = Vec::new();
        let place = |slot: &usize| {
            seen.iter().position(|have| have == slot).unwrap_or_else(|| {
                seen.push(*slot);
                seen.len() - 1
            })
        };
        slots.iter().map(place).collect::<Vec<_>>()
    };
    canonical(one) == canonical(other)
}

#[cfg(test)]
mod tests {
    use super::super::cpu_slots::two_by_two;
    use super::*;

    fn key(name: &str, nth: usize) -> Key {
        Key { process: 0, name: name.to_owned(), nth }
    }

    #[test]
    fn a_thread_that_was_not_profiled_goes_with_its_like_or_is_free() {
        let slots = CpuSlots::of(&two_by_two(), &CpuSet::from_list("0-3").expect("a list"));
        let threads = [key("io", 0), key("io", 1), key("w", 0), key("w", 1)];
        let arrangement = Arrangement::in_slots(&threads, &[0, 0, 1, 2], &slots);
        let of = |name, nth| arrangement.of(&key(name, nth)).map(ToString::to_string);
        assert_eq!(of("w", 1), Some("1".to_owned()));
        assert_eq!(of("io", 7), Some("0".to_owned()), "all of its name go there");
        assert_eq!(of("w", 7), None, "its like go to two places");
        assert_eq!(of("new", 0), None);
        let of_later =
            |name: &str| arrangement.of(&Key { process: 3, ..key(name, 0) }).map(ToString::to_string);
        assert_eq!(of_later("io"), Some("0".to_owned()), "a process that came later");
        assert_eq!(of_later("w"), None, "its like go to two places");
        assert_eq!(arrangement.sets().len(), 3);
    }

    #[test]
    fn packing_and_spreading_differ_as_soon_as_there_is_a_choice() {
        let slots = CpuSlots::of(&two_by_two(), &CpuSet::from_list("0-3").expect("a list"));
        assert_eq!(packed(4, 2), [0, 0, 1, 1]);
        assert_eq!(packed(2, 4), [0, 1]);
        assert_eq!(spread(2, &slots), [0, 2], "not in the same L2");
        assert_eq!(spread(5, &slots), [0, 2, 1, 3, 0]);
        assert_eq!(crossed(4, 2), [0, 1, 1, 0]);
        assert_eq!(crossed(5, 2), [0, 0, 1, 0, 0]);
        assert!(is_same_grouping(&[0, 0, 1, 1], &[3, 3, 2, 2]));
        assert!(!is_same_grouping(&[0, 0, 1, 1], &[0, 1, 0, 1]));
    }
}
