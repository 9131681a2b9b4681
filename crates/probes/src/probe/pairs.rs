//! Which pairs of CPUs are measured: all on a small machine; on a large one the first pair of each kind of
//! neighbourhood and random others, the same for the same machine and seed.

use std::collections::{BTreeMap, BTreeSet};

use kernels::random::SplitMix64;
use machine::{CpuId, CpuSet, Topology};

/// Two CPUs that are measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuPair {
    /// The CPU that times.
    pub a: CpuId,
    /// The other.
    pub b: CpuId,
}

impl CpuPair {
    /// The same pair with the roles changed.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self { a: self.b, b: self.a }
    }
}

/// The chosen pairs and how many there are in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenPairs {
    /// Pairs, the closest kind first.
    pub pairs: Vec<CpuPair>,
    /// Kinds of neighbourhood that the machine claims.
    pub kinds: usize,
    /// Pairs that could be measured.
    pub possible: usize,
}

/// What two CPUs share as the machine claims: pairs of one kind should measure alike. Ordered from close to far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Nothing in common: core, module, level 2, level 3, package, node.
    apart: [bool; 6],
    distance: Option<u32>,
}

/// Where one CPU sits, looked up once: comparing all pairs of 256 CPUs then takes milliseconds.
struct Seat {
    cpu: CpuId,
    core: Option<usize>,
    module: Option<(i64, i64)>,
    caches: [Option<CpuSet>; 2],
    package: Option<i64>,
    node: Option<machine::NodeId>,
}

impl Seat {
    fn of(topology: &Topology, id: CpuId) -> Self {
        let cpu = topology.cpu(id);
        Self {
            cpu: id,
            core: cpu.map(|cpu| cpu.core_index),
            module: cpu.and_then(|cpu| Some((cpu.package, cpu.module?))),
            caches: [2, 3].map(|level| topology.data_cache(id, level).map(|cache| cache.shared_by.clone())),
            package: cpu.map(|cpu| cpu.package),
            node: cpu.and_then(|cpu| cpu.node),
        }
    }

    fn kind(&self, other: &Self, topology: &Topology) -> Kind {
        let apart_cache =
            [0, 1].map(|level| self.caches[level].as_ref().is_none_or(|set| !set.contains(other.cpu)));
        Kind {
            apart: [
                self.core.is_none() || self.core != other.core,
                self.module.is_none() || self.module != other.module,
                apart_cache[0],
                apart_cache[1],
                self.package != other.package,
                self.node != other.node,
            ],
            distance: self.node.zip(other.node).and_then(|(from, to)| distance(topology, from, to)),
        }
    }
}

fn distance(topology: &Topology, from: machine::NodeId, to: machine::NodeId) -> Option<u32> {
    let column = topology.distance_nodes.iter().position(|&node| node == to)?;
    topology.nodes.iter().find(|node| node.id == from)?.distances.get(column).copied()
}

/// At most `limit` pairs of the CPUs given.
pub fn choose_pairs(topology: &Topology, cpus: &[CpuId], seed: u64, limit: usize) -> ChosenPairs {
    let seats: Vec<Seat> = cpus.iter().map(|&cpu| Seat::of(topology, cpu)).collect();
    let possible = cpus.len() * cpus.len().saturating_sub(1) / 2;
    let mut first_of_kind: BTreeMap<Kind, (usize, usize)> = BTreeMap::new();
    for a in 0..seats.len() {
        for b in a + 1..seats.len() {
            first_of_kind.entry(seats[a].kind(&seats[b], topology)).or_insert((a, b));
        }
    }
    let mut chosen: Vec<(usize, usize)> = first_of_kind.values().copied().take(limit).collect();
    let mut taken: BTreeSet<(usize, usize)> = chosen.iter().copied().collect();
    if possible <= limit {
        let all = (0..cpus.len()).flat_map(|a| (a + 1..cpus.len()).map(move |b| (a, b)));
        chosen.extend(all.filter(|pair| !taken.contains(pair)));
    } else {
        let mut random = SplitMix64::new(seed);
        while chosen.len() < limit {
            let a = random.below(cpus.len() as u64) as usize;
            let b = random.below(cpus.len() as u64) as usize;
            if a != b && taken.insert((a.min(b), a.max(b))) {
                chosen.push((a.min(b), a.max(b)));
            }
        }
    }
    let pairs = chosen.into_iter().map(|(a, b)| CpuPair { a: cpus[a], b: cpus[b] }).collect();
    ChosenPairs { pairs, kinds: first_of_kind.len(), possible }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(count: u32) -> Vec<CpuId> {
        (0..count).map(CpuId).collect()
    }

    #[test]
    fn few_cpus_are_measured_in_all_pairs_and_one_in_none() {
        let chosen = choose_pairs(&Topology::default(), &cpus(4), 1, 10);
        assert_eq!((chosen.pairs.len(), chosen.possible), (6, 6));
        assert!(choose_pairs(&Topology::default(), &cpus(1), 1, 10).pairs.is_empty());
        assert!(choose_pairs(&Topology::default(), &[], 1, 10).pairs.is_empty());
    }

    #[test]
    fn many_cpus_give_as_many_different_pairs_as_asked_for_by_seed() {
        let choose = |seed| choose_pairs(&Topology::default(), &cpus(64), seed, 40).pairs;
        let distinct: BTreeSet<CpuPair> = choose(1).into_iter().collect();
        assert_eq!(distinct.len(), 40);
        assert!(distinct.iter().all(|pair| pair.a < pair.b));
        assert_eq!(choose(1), choose(1));
        assert_ne!(choose(1), choose(2));
    }
}
