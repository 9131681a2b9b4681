//! Packages, dies, modules, cores and threads, and the caches and nodes that join them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Cache, CacheKind, CpuId, CpuSet, Node, NodeId};

/// What kind of core it is, where a machine mixes several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreKind {
    /// All cores are alike, or the machine does not tell.
    #[default]
    Uniform,
    /// The faster kind of a hybrid machine.
    Performance,
    /// The smaller kind of a hybrid machine.
    Efficiency,
}

/// One logical CPU and where it sits. Ids are the kernel's, or ours in order of appearance where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// The kernel's number.
    pub id: CpuId,
    /// Index into `Topology::cores`.
    pub core_index: usize,
    /// `physical_package_id`.
    pub package: i64,
    /// `die_id`, where the machine has dies.
    pub die: Option<i64>,
    /// `cluster_id`: cores that share more than a package, such as a module with one L2.
    pub module: Option<i64>,
    /// The node whose memory is nearest.
    pub node: Option<NodeId>,
    /// What kind of core it belongs to.
    pub core_kind: CoreKind,
    /// Relative capacity as the scheduler sees it, 1024 is the largest; `None` where not reported.
    pub capacity: Option<u32>,
}

/// A core: one or more hardware threads that share its pipelines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Core {
    /// `core_id`, unique only within a package; `None` where not reported.
    pub os_index: Option<i64>,
    /// `physical_package_id`.
    pub package: i64,
    /// Its hardware threads that are online.
    pub cpus: CpuSet,
}

/// How the CPUs of a machine hang together, as the machine claims; measured sharing is in the record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topology {
    /// CPUs that are online and present, by number.
    pub cpus: Vec<Cpu>,
    /// Cores, by package and first CPU.
    pub cores: Vec<Core>,
    /// Cache instances, by level, kind and first CPU.
    pub caches: Vec<Cache>,
    /// NUMA nodes, by number; none where the kernel has no node directory.
    pub nodes: Vec<Node>,
    /// The nodes that the columns of `Node::distances` stand for.
    pub distance_nodes: Vec<NodeId>,
    /// CPUs that exist but are switched off.
    pub offline: CpuSet,
    /// CPUs kept free of the scheduler's balancing (`isolcpus=`).
    pub isolated: CpuSet,
    /// CPUs this process may use: affinity and cgroup. All online ones where nothing is restricted.
    pub allowed: CpuSet,
    /// Nodes this process may take memory from.
    pub allowed_nodes: BTreeSet<NodeId>,
}

impl Topology {
    /// The CPUs that are online.
    pub fn online(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// One CPU by its number.
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// Hardware threads of the same core, itself included; the CPU alone if it is unknown.
    pub fn siblings(&self, id: CpuId) -> CpuSet {
        self.cpu(id)
            .and_then(|cpu| self.cores.get(cpu.core_index))
            .map_or_else(|| [id].into_iter().collect(), |core| core.cpus.clone())
    }

    /// The package numbers in use, ascending.
    pub fn packages(&self) -> BTreeSet<i64> {
        self.cpus.iter().map(|cpu| cpu.package).collect()
    }

    /// The cache of a level that loads of this CPU go through (data or unified).
    pub fn data_cache(&self, id: CpuId, level: u8) -> Option<&Cache> {
        self.caches.iter().find(|cache| {
            cache.level == level && cache.kind != CacheKind::Instruction && cache.shared_by.contains(id)
        })
    }

    /// The largest data or unified cache that any CPU claims.
    pub fn largest_cache_bytes(&self) -> Option<Bytes> {
        self.caches
            .iter()
            .filter(|cache| cache.kind != CacheKind::Instruction)
            .filter_map(|cache| cache.size_bytes)
            .max()
    }
}
