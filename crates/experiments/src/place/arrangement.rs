//! Threads on CPUs: what the CPUs that a program may use share (nested units, and how far apart two are), and what a placement is once it
//! is decided.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CpuId, CpuSet, Topology};
use stats::Order;

use super::thread_table::Key;

/// Units of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotLevel {
    /// What it is called.
    pub name: &'static str,
    /// Its units, in the order of the CPUs.
    pub units: Vec<CpuSet>,
}

/// CPUs in the order of the tree: what is near stands together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSlots {
    /// The CPUs.
    pub cpus: Vec<CpuId>,
    /// From single CPUs to the largest units; all units of a level have as many CPUs. The whole is no level.
    pub levels: Vec<SlotLevel>,
    /// Levels of the machine that are left out as their units are not alike among the CPUs at hand.
    pub left_out: Vec<&'static str>,
}

impl CpuSlots {
    /// Of the CPUs that may be used.
    pub fn of(topology: &Topology, allowed: &CpuSet) -> Self {
        let shared = |cpu: CpuId, level: u8| {
            topology
                .data_cache(cpu, level)
                .map_or_else(|| [cpu].into_iter().collect(), |cache| cache.shared_by.clone())
        };
        let last_level = topology.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
        let of_node = |cpu: CpuId| {
            let node = topology.cpu(cpu).and_then(|cpu| cpu.node);
            let with = |other: &&machine::Cpu| node.is_some() && other.node == node;
            topology.cpus.iter().filter(with).map(|other| other.id).collect()
        };
        let candidates: [(&'static str, &dyn Fn(CpuId) -> CpuSet); 4] = [
            ("core", &|cpu| topology.siblings(cpu)),
            ("L2", &|cpu| shared(cpu, 2)),
            ("last-level cache", &|cpu| shared(cpu, last_level)),
            ("node", &of_node),
        ];
        let mut cpus: Vec<CpuId> = allowed.iter().collect();
        let first_of = |set: CpuSet| set.first().unwrap_or(CpuId(0));
        cpus.order_by_key(|cpu| {
            let near = candidates.iter().rev().map(|(_, of)| first_of(of(*cpu))).collect::<Vec<_>>();
            (near, *cpu)
        });
        let single = cpus.iter().map(|cpu| [*cpu].into_iter().collect()).collect();
        let mut levels = vec![SlotLevel { name: "CPU", units: single }];
        let mut left_out = Vec::new();
        let units_of = |of: &dyn Fn(CpuId) -> CpuSet| {
            let mut units: Vec<CpuSet> = Vec::new();
            for cpu in &cpus {
                let unit = of(*cpu).intersection(allowed);
                if !unit.is_empty() && !units.contains(&unit) {
                    units.push(unit);
                }
            }
            units
        };
        for (name, of) in candidates {
            let units = units_of(of);
            let below = levels.last().map_or(0, |level: &SlotLevel| level.units.len());
            if units.len() >= below || units.len() < 2 {
                continue;
            }
            let sizes: BTreeSet<usize> = units.iter().map(CpuSet::len).collect();
            let is_nested = below.is_multiple_of(units.len());
            if sizes.len() == 1 && is_nested {
                levels.push(SlotLevel { name, units });
            } else {
                left_out.push(name);
            }
        }
        Self { cpus, levels, left_out }
    }

    /// CPUs such that each next one is as far as can be from those before: what fills the largest units first, one each.
    pub fn far_apart(&self) -> Vec<CpuId> {
        let mut order = self.cpus.clone();
        // From the smallest level to the largest: deal the units of a level out in turns.
        for level in &self.levels {
            let mut dealt = Vec::with_capacity(order.len());
            let mut hands: Vec<Vec<CpuId>> = level
                .units
                .iter()
                .map(|unit| order.iter().copied().filter(|cpu| unit.contains(*cpu)).rev().collect())
                .collect();
            while hands.iter().any(|hand| !hand.is_empty()) {
                dealt.extend(hands.iter_mut().filter_map(Vec::pop));
            }
            order = dealt;
        }
        order
    }
}

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
pub(super) mod tests {
    use super::*;

    pub(in crate::place) fn two_by_two() -> Topology {
        use machine::{Bytes, Cache, CacheKind, Core, Cpu};
        let cpu = |id: u32| Cpu {
            id: CpuId(id),
            core_index: id as usize,
            package: 0,
            die: None,
            module: None,
            node: None,
            core_kind: machine::CoreKind::Uniform,
            capacity: None,
        };
        let cache = |level: u8, cpus: &str| Cache {
            level,
            kind: CacheKind::Unified,
            size_bytes: Some(Bytes(1 << 20)),
            line_bytes: None,
            ways: None,
            shared_by: CpuSet::from_list(cpus).expect("a list"),
            sharers_unknown: false,
        };
        let core = |id: u32| Core { os_index: None, package: 0, cpus: [CpuId(id)].into_iter().collect() };
        Topology {
            cpus: (0..4).map(cpu).collect(),
            cores: (0..4).map(core).collect(),
            caches: vec![cache(2, "0,2"), cache(2, "1,3"), cache(3, "0-3")],
            ..Topology::default()
        }
    }

    fn numbers(cpus: &[CpuId]) -> Vec<u32> {
        cpus.iter().map(|cpu| cpu.0).collect()
    }

    #[test]
    fn near_cpus_stand_together_and_far_ones_are_dealt_in_turns() {
        let slots = CpuSlots::of(&two_by_two(), &CpuSet::from_list("0-3").expect("a list"));
        assert_eq!(numbers(&slots.cpus), [0, 2, 1, 3]);
        let names: Vec<_> = slots.levels.iter().map(|level| (level.name, level.units.len())).collect();
        assert_eq!(names, [("CPU", 4), ("L2", 2)], "one core each, one last-level cache for all");
        assert_eq!(numbers(&slots.far_apart()), [0, 1, 2, 3]);
    }

    #[test]
    fn a_level_whose_units_are_cut_unevenly_is_left_out_and_reported() {
        let slots = CpuSlots::of(&two_by_two(), &CpuSet::from_list("0-2").expect("a list"));
        assert_eq!(slots.levels.len(), 1);
        assert_eq!(slots.left_out, ["L2"]);
        let one = CpuSlots::of(&two_by_two(), &CpuSet::from_list("3").expect("a list"));
        assert_eq!((numbers(&one.cpus), one.levels.len()), (vec![3], 1));
    }

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
