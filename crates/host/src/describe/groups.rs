//! Joining CPUs that name each other as siblings into groups with stable numbers.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CpuId, CpuSet};

/// What the kernel tells of one CPU about one level: the group's number and its members.
#[derive(Debug, Clone, Default)]
pub(super) struct Membership {
    /// The number of the group, if the kernel gives one; it need not be unique.
    pub(super) id: Option<i64>,
    /// The members, if the kernel gives them.
    pub(super) members: Option<CpuSet>,
}

/// Numbers for groups, one per CPU: the kernel's where each group has its own, else 0, 1, ... in order of first CPUs.
///
/// Members win over numbers: PowerPC gives one number to several packages, s390 none.
/// `None` for CPUs of which nothing is told.
pub(super) fn number(told: &BTreeMap<CpuId, Membership>) -> BTreeMap<CpuId, Option<i64>> {
    let online: CpuSet = told.keys().copied().collect();
    let mut keys: BTreeMap<CpuId, Option<Key>> = BTreeMap::new();
    for (cpu, membership) in told {
        let members = membership.members.as_ref().map(|members| members.intersection(&online));
        let key = match (members.filter(|members| members.contains(*cpu)), membership.id) {
            (Some(members), _) => members.first().map(Key::First),
            (None, Some(id)) => Some(Key::Number(id)),
            (None, None) => None,
        };
        keys.insert(*cpu, key);
    }
    let mut id_of: BTreeMap<Key, Option<i64>> = BTreeMap::new();
    for (cpu, key) in &keys {
        if let Some(key) = key {
            id_of.entry(*key).or_insert_with(|| told.get(cpu).and_then(|membership| membership.id));
        }
    }
    let distinct: BTreeSet<i64> = id_of.values().filter_map(|id| id.filter(|id| *id >= 0)).collect();
    let order: BTreeMap<Key, i64> =
        keys.values().flatten().fold(BTreeMap::new(), |mut order: BTreeMap<Key, i64>, key| {
            let next = i64::try_from(order.len()).unwrap_or(i64::MAX);
            order.entry(*key).or_insert(next);
            order
        });
    let kernels = distinct.len() == id_of.len();
    keys.into_iter()
        .map(|(cpu, key)| {
            let number = key.and_then(|key| {
                if kernels { id_of.get(&key).copied().flatten() } else { order.get(&key).copied() }
            });
            (cpu, number)
        })
        .collect()
}

/// What makes a group: its first online member, or only its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    First(CpuId),
    Number(i64),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(told: &[(u32, Option<i64>, Option<&str>)]) -> Vec<Option<i64>> {
        let told = told
            .iter()
            .map(|(cpu, id, members)| {
                let members = members.map(|list| CpuSet::from_list(list).expect("a list"));
                (CpuId(*cpu), Membership { id: *id, members })
            })
            .collect();
        number(&told).into_values().collect()
    }

    #[test]
    fn groups_keep_the_kernels_numbers_unless_those_are_shared_or_missing() {
        let (a, b) = (Some("0-1"), Some("4-5"));
        assert_eq!(
            numbers(&[(0, Some(3), a), (1, Some(3), a), (4, Some(9), b)]),
            [Some(3), Some(3), Some(9)]
        );
        assert_eq!(
            numbers(&[(0, Some(0), a), (1, Some(0), a), (4, Some(0), b)]),
            [Some(0), Some(0), Some(1)]
        );
        assert_eq!(numbers(&[(0, Some(-1), a), (4, Some(-1), b)]), [Some(0), Some(1)]);
        assert_eq!(numbers(&[(0, Some(2), None), (4, Some(2), None)]), [Some(2), Some(2)]);
        assert_eq!(numbers(&[(0, None, None), (4, None, None)]), [None, None]);
    }
}
