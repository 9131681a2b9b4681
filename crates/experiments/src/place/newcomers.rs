//! Where threads go that come while a placement by the order of creation is held.

use std::collections::BTreeMap;

use machine::CpuSet;

use super::arrangement::Arrangement;
use super::cpu_slots::CpuSlots;
use super::roster::Key;

/// Whom a newcomer is to sit with. Nobody who is there is moved for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomers {
    /// One CPU each; of those that hold equally few, the first is taken.
    slots: Vec<CpuSet>,
    /// True if one goes beside the one before it in the order of creation, as long as that CPU holds less than its share.
    is_beside: bool,
}

impl Newcomers {
    /// On the CPU that holds the fewest, the farthest from the others first.
    pub fn apart(slots: &CpuSlots) -> Self {
        let single = |cpu| [cpu].into_iter().collect();
        Self { slots: slots.far_apart().into_iter().map(single).collect(), is_beside: false }
    }

    /// Beside the one before, and on the CPU that holds the fewest once that has its share.
    pub fn together(slots: &CpuSlots) -> Self {
        let single = |cpu: &_| [*cpu].into_iter().collect();
        Self { slots: slots.cpus.iter().map(single).collect(), is_beside: true }
    }

    /// CpuSlots those of the living, in the order of creation, that have no slot yet; who is gone has none any more.
    pub fn assign(&self, living: &[Key], arrangement: &mut Arrangement) {
        let old = std::mem::take(&mut arrangement.cpus);
        arrangement.cpus =
            living.iter().filter_map(|key| Some((key.clone(), old.get(key)?.clone()))).collect();
        let mut held: BTreeMap<usize, usize> = BTreeMap::new();
        let slot_of = |cpus: &CpuSet| self.slots.iter().position(|slot| slot == cpus);
        for cpus in arrangement.cpus.values() {
            if let Some(slot) = slot_of(cpus) {
                *held.entry(slot).or_default() += 1;
            }
        }
        let share = living.len().div_ceil(self.slots.len().max(1));
        let mut before = None;
        for key in living {
            let slot = if let Some(cpus) = arrangement.cpus.get(key) {
                slot_of(cpus)
            } else {
                let count = |slot: &usize| held.get(slot).copied().unwrap_or_default();
                let beside = before.filter(|slot| self.is_beside && count(slot) < share);
                let slot = beside.or_else(|| (0..self.slots.len()).min_by_key(count));
                if let Some(slot) = slot {
                    *held.entry(slot).or_default() += 1;
                    arrangement.cpus.insert(key.clone(), self.slots[slot].clone());
                }
                slot
            };
            before = slot.or(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu_slots::two_by_two;
    use super::*;

    fn in_slots(newcomers: &Newcomers, living: &[Key], arrangement: &mut Arrangement) -> Vec<String> {
        newcomers.assign(living, arrangement);
        living.iter().map(|key| arrangement.cpus[key].to_string()).collect()
    }

    #[test]
    fn newcomers_are_dealt_out_or_sit_beside_the_one_before_and_nobody_else_moves() {
        let slots = CpuSlots::of(&two_by_two(), &CpuSet::from_list("0-3").expect("a list"));
        let key = |process, nth| Key { process, name: "w".to_owned(), nth };
        let all = [key(0, 0), key(0, 1), key(1, 0), key(1, 1), key(2, 0), key(2, 1)];
        let (mut apart, mut together) = (Arrangement::default(), Arrangement::default());
        let (far, near) = (Newcomers::apart(&slots), Newcomers::together(&slots));
        assert_eq!(in_slots(&far, &all[..2], &mut apart), ["0", "1"], "CPUs of one L2 are 0 and 2, 1 and 3");
        assert_eq!(in_slots(&far, &all, &mut apart), ["0", "1", "2", "3", "0", "1"]);
        assert_eq!(in_slots(&near, &all, &mut together), ["0", "0", "2", "2", "1", "1"]);
        let left = [all[1].clone(), all[3].clone(), key(3, 0)];
        assert_eq!(in_slots(&far, &left, &mut apart), ["1", "3", "0"], "two CPUs are empty");
        assert_eq!(in_slots(&near, &left, &mut together), ["0", "2", "1"], "each has its share");
        assert_eq!((apart.cpus.len(), together.cpus.len()), (3, 3), "who is gone has no slot");
    }
}
