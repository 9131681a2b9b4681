//! Which CPUs stand for which: one of each core, last-level cache or package, or each for itself.

use machine::{CpuId, CpuSet, NodeId, Topology};
use record::SocketSubject;

/// What one CPU stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// Itself.
    Cpu,
    /// The threads of its core.
    Core,
    /// The CPUs of its last-level cache.
    Cache,
    /// The CPUs of its node.
    Node,
    /// The CPUs of its package.
    Package,
}

impl Per {
    /// The coarsest of which the CPUs make at least two groups: what can differ most is looked at first. Nodes before packages
    /// where there are more of them: a node without a CPU in the matrix says nothing of links.
    pub fn coarsest(topology: &Topology, cpus: &[CpuId]) -> Self {
        let count = |per: Self| subjects(topology, cpus, per).len();
        if count(Self::Node) > count(Self::Package) {
            return Self::Node;
        }
        [Self::Package, Self::Cache, Self::Core].into_iter().find(|&per| count(per) >= 2).unwrap_or(Self::Cpu)
    }

    /// What it stands for, of several: `nodes`.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Cpu => "CPUs",
            Self::Core => "cores",
            Self::Cache => "last-level caches",
            Self::Node => "nodes",
            Self::Package => "packages",
        }
    }
}

/// The first CPU of each group, in the order of their numbers.
pub fn subjects(topology: &Topology, cpus: &[CpuId], per: Per) -> Vec<SocketSubject> {
    let mut subjects: Vec<SocketSubject> = Vec::new();
    for &cpu in cpus {
        if let Some(have) = subjects.iter_mut().find(|have| are_one(topology, per, have.cpu, cpu)) {
            have.stands_for.insert(cpu);
            continue;
        }
        let known = topology.cpu(cpu);
        subjects.push(SocketSubject {
            cpu,
            package: package_of(topology, cpu),
            node: known.and_then(|known| known.node),
            stands_for: [cpu].into_iter().collect::<CpuSet>(),
        });
    }
    subjects
}

/// Nodes that have memory; none where the kernel tells of none.
pub fn nodes_with_memory(topology: &Topology) -> Vec<NodeId> {
    let nodes = topology.nodes.iter();
    nodes.filter(|node| node.memory_bytes.is_none_or(|bytes| bytes.0 > 0)).map(|node| node.id).collect()
}

/// The package of a CPU, where the machine tells.
pub(super) fn package_of(topology: &Topology, cpu: CpuId) -> Option<i64> {
    topology.cpu(cpu).map(|cpu| cpu.package).filter(|&package| package >= 0)
}

/// Whether two CPUs belong to one group; where the machine does not tell, they do not.
fn are_one(topology: &Topology, per: Per, a: CpuId, b: CpuId) -> bool {
    match per {
        Per::Cpu => false,
        Per::Core => topology.siblings(a).contains(b),
        Per::Cache => {
            let last = topology.caches.iter().map(|cache| cache.level).max();
            let shared = |cache: &&machine::Cache| Some(cache.level) == last && cache.shared_by.contains(a);
            topology.caches.iter().find(shared).is_some_and(|cache| cache.shared_by.contains(b))
        }
        Per::Node => {
            let [a, b] = [a, b].map(|cpu| topology.cpu(cpu).and_then(|cpu| cpu.node));
            // Without numbers of nodes there is one memory for all.
            a == b
        }
        Per::Package => {
            let [a, b] = [a, b].map(|cpu| package_of(topology, cpu));
            a.is_some() && a == b
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, Cache, CacheKind, CoreKind, Cpu};

    use super::*;

    /// Two packages of two CPUs, each package with a cache; nodes of a CPU each, or none.
    fn topology(nodes_differ: bool) -> Topology {
        let mut topology = Topology::default();
        for number in 0..4_u32 {
            topology.cpus.push(Cpu {
                id: CpuId(number),
                core_index: number as usize,
                package: i64::from(number / 2),
                die: None,
                capacity: None,
                module: None,
                node: nodes_differ.then_some(NodeId(number)),
                core_kind: CoreKind::default(),
            });
        }
        for package in 0..2 {
            topology.caches.push(Cache {
                level: 3,
                kind: CacheKind::Unified,
                size_bytes: Some(Bytes(1 << 20)),
                line_bytes: None,
                ways: None,
                shared_by: (package * 2..package * 2 + 2).map(CpuId).collect(),
                sharers_unknown: false,
            });
        }
        topology
    }

    #[test]
    fn one_stands_for_all_of_its_group_and_the_coarsest_of_two_is_taken() {
        let (topology, cpus) = (topology(false), (0..4).map(CpuId).collect::<Vec<_>>());
        let of = |per, cpus: &[CpuId]| {
            let chosen = subjects(&topology, cpus, per);
            chosen.iter().map(|one| (one.cpu.0, one.stands_for.len())).collect::<Vec<_>>()
        };
        assert_eq!(of(Per::Package, &cpus), [(0, 2), (2, 2)]);
        assert_eq!(of(Per::Cache, &cpus), [(0, 2), (2, 2)]);
        assert_eq!(of(Per::Cpu, &cpus), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        assert_eq!(Per::coarsest(&topology, &cpus), Per::Package);
        assert_eq!(Per::coarsest(&topology, &cpus[..1]), Per::Cpu);
        assert!(matches!(Per::coarsest(&topology, &cpus[..2]), Per::Core | Per::Cpu));
        assert!(of(Per::Package, &[]).is_empty());
    }

    #[test]
    fn every_node_gets_a_cpu_where_packages_have_several() {
        let cpus: Vec<CpuId> = (0..4).map(CpuId).collect();
        assert_eq!(Per::coarsest(&topology(true), &cpus), Per::Node);
        assert_eq!(subjects(&topology(true), &cpus, Per::Node).len(), 4);
        assert_eq!(subjects(&topology(false), &cpus, Per::Node).len(), 1);
    }
}
