//! The short, stable view of a machine that scripts may rely on: counts, caches by level, distances.
//!
//! It shows what a process on that machine may use, as `lstopo` does: CPUs and nodes hidden by a control
//! group or by affinity are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Bytes, Cache, CpuSet, Machine, NodeId, Topology};

/// What a process may use of a machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// How many there are of everything.
    pub counts: Counts,
    /// The CPUs that may be used.
    pub cpus: CpuSet,
    /// Caches by short name; `L1d`, `L1i`, `L2` and `L3` are always there.
    pub caches: BTreeMap<String, CacheSummary>,
    /// Distances between the nodes that may be used; `None` where fewer than two are known.
    pub distances: Option<Distances>,
}

/// How many of each part a process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Packages that hold a CPU or node that may be used.
    pub packages: usize,
    /// Dies, where a package has several; else 0.
    pub dies: usize,
    /// NUMA nodes; 1 where the machine names none: `Machine::missing` then says that their number is unknown.
    pub numa_nodes: usize,
    /// Cores; 0 where the machine does not show which CPUs share one.
    pub cores: usize,
    /// Logical CPUs.
    pub pus: usize,
}

/// All caches of one name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheSummary {
    /// Instances.
    pub count: usize,
    /// Their size, if all have the same.
    pub size_bytes: Option<Bytes>,
    /// Pairs of size in bytes and the number of instances that have it, by size.
    pub sizes: Vec<(Bytes, usize)>,
}

/// The matrix of ACPI SLIT distances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distances {
    /// The nodes of rows and columns, ascending.
    pub os_index: Vec<NodeId>,
    /// One row for each node; 10 is local.
    pub values: Vec<Vec<u32>>,
}

impl View {
    /// The view of a process on the machine.
    pub fn of(machine: &Machine) -> Self {
        let topology = &machine.topology;
        Self {
            counts: counts(topology),
            cpus: topology.allowed.clone(),
            caches: caches(topology),
            distances: distances(topology),
        }
    }
}

fn counts(topology: &Topology) -> Counts {
    let allowed: Vec<_> = topology.cpus.iter().filter(|cpu| topology.allowed.contains(cpu.id)).collect();
    // A node may be open to a process whose CPUs are all elsewhere: its package is then in view.
    let near_allowed_node = topology
        .cpus
        .iter()
        .filter(|cpu| cpu.node.is_some_and(|node| topology.allowed_nodes.contains(&node)))
        .map(|cpu| cpu.package);
    let packages: BTreeSet<i64> = allowed.iter().map(|cpu| cpu.package).chain(near_allowed_node).collect();
    let mut dies: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for cpu in &allowed {
        dies.entry(cpu.package).or_default().extend(cpu.die);
    }
    let has_dies = dies.values().any(|dies| dies.len() > 1);
    let nodes = topology.nodes.iter().filter(|node| topology.allowed_nodes.contains(&node.id)).count();
    let is_known = |core: &&crate::Core| core.os_index.is_some() || core.cpus.len() > 1;
    let in_view = |core: &&crate::Core| !core.cpus.intersection(&topology.allowed).is_empty();
    Counts {
        packages: packages.len(),
        dies: if has_dies { dies.values().map(BTreeSet::len).sum() } else { 0 },
        numa_nodes: if topology.nodes.is_empty() { usize::from(!allowed.is_empty()) } else { nodes },
        cores: topology.cores.iter().filter(is_known).filter(in_view).count(),
        pus: allowed.len(),
    }
}

fn caches(topology: &Topology) -> BTreeMap<String, CacheSummary> {
    let mut groups: BTreeMap<String, Vec<&Cache>> =
        ["L1d", "L1i", "L2", "L3"].into_iter().map(|name| (name.to_owned(), Vec::new())).collect();
    for cache in &topology.caches {
        let is_reached = !cache.shared_by.intersection(&topology.allowed).is_empty();
        if is_reached || holds_open_node(topology, cache) {
            groups.entry(cache.name()).or_default().push(cache);
        }
    }
    groups.into_iter().map(|(name, caches)| (name, summary(&caches))).collect()
}

/// True if memory that the process may use hangs on the cache: it is shared by just the CPUs of an open node,
/// or by more. Where those CPUs are the whole package, the memory hangs on the package instead.
fn holds_open_node(topology: &Topology, cache: &Cache) -> bool {
    topology.nodes.iter().filter(|node| topology.allowed_nodes.contains(&node.id)).any(|node| {
        let is_inside = !node.cpus.is_empty() && node.cpus.is_subset(&cache.shared_by);
        is_inside && (node.cpus != cache.shared_by || !is_package(topology, &node.cpus))
    })
}

/// True if these are all online CPUs of one package.
fn is_package(topology: &Topology, cpus: &CpuSet) -> bool {
    let Some(package) = cpus.first().and_then(|cpu| topology.cpu(cpu)).map(|cpu| cpu.package) else {
        return false;
    };
    let members: CpuSet =
        topology.cpus.iter().filter(|cpu| cpu.package == package).map(|cpu| cpu.id).collect();
    members == *cpus
}

fn summary(caches: &[&Cache]) -> CacheSummary {
    let mut sizes: BTreeMap<Bytes, usize> = BTreeMap::new();
    for size in caches.iter().filter_map(|cache| cache.size_bytes) {
        *sizes.entry(size).or_default() += 1;
    }
    let uniform = sizes.iter().next().filter(|(_, count)| **count == caches.len());
    CacheSummary {
        count: caches.len(),
        size_bytes: uniform.map(|(size, _)| *size),
        sizes: sizes.into_iter().collect(),
    }
}

/// The rows and columns of the nodes in view.
fn distances(topology: &Topology) -> Option<Distances> {
    let column = |id: NodeId| topology.distance_nodes.iter().position(|node| *node == id);
    let nodes: Vec<_> =
        topology.nodes.iter().filter(|node| topology.allowed_nodes.contains(&node.id)).collect();
    if nodes.len() < 2 {
        return None;
    }
    let values: Option<Vec<Vec<u32>>> = nodes
        .iter()
        .map(|row| nodes.iter().map(|other| row.distances.get(column(other.id)?).copied()).collect())
        .collect();
    Some(Distances { os_index: nodes.iter().map(|node| node.id).collect(), values: values? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Core, Cpu, CpuId, Node};

    fn node(id: u32, cpus: &str, distances: &[u32]) -> Node {
        Node {
            id: NodeId(id),
            cpus: CpuSet::from_list(cpus).expect("a list"),
            memory_bytes: None,
            free_bytes: None,
            distances: distances.to_vec(),
            attributes: Vec::new(),
            side_caches: Vec::new(),
        }
    }

    #[test]
    fn only_what_the_process_may_use_is_in_view() {
        let cpu = |id: u32, package: i64, node: u32| Cpu {
            id: CpuId(id),
            core_index: id as usize,
            package,
            die: None,
            module: None,
            node: Some(NodeId(node)),
            core_kind: crate::CoreKind::Uniform,
            capacity: None,
        };
        let core = |id: u32, package: i64| Core {
            os_index: Some(0),
            package,
            cpus: [CpuId(id)].into_iter().collect(),
        };
        let topology = Topology {
            cpus: vec![cpu(0, 0, 0), cpu(1, 1, 3), cpu(2, 2, 5)],
            cores: vec![core(0, 0), core(1, 1), core(2, 2)],
            nodes: vec![
                node(0, "0", &[10, 20, 30]),
                node(3, "1", &[20, 10, 40]),
                node(5, "2", &[30, 40, 10]),
            ],
            distance_nodes: vec![NodeId(0), NodeId(3), NodeId(5)],
            allowed: CpuSet::from_list("0").expect("a list"),
            allowed_nodes: [NodeId(0), NodeId(5)].into_iter().collect(),
            ..Topology::default()
        };
        let view = View::of(&Machine { topology, ..Machine::default() });
        assert_eq!(view.counts, Counts { packages: 2, dies: 0, numa_nodes: 2, cores: 1, pus: 1 });
        let distances = view.distances.expect("two nodes");
        assert_eq!(distances.os_index, [NodeId(0), NodeId(5)]);
        assert_eq!(distances.values, [[10, 30], [30, 10]]);
        assert_eq!(view.caches["L3"].count, 0);
    }
}
