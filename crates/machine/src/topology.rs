//! CPUs, cores, packages and the sets of them a process may use; cache instances, NUMA nodes, and what CPUID says of translation
//! look-aside buffers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Bytes, CpuId, CpuSet, NodeId};

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
    /// Relative capacity as the scheduler sees it, 1024 is the largest; `None` where unknown.
    pub capacity: Option<u32>,
}

/// A core: one or more hardware threads that share its pipelines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Core {
    /// `core_id`, unique only within a package; `None` where unknown.
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

    /// The largest cache of a level that any CPU claims.
    pub fn cache_bytes(&self, level: u8) -> Option<Bytes> {
        self.caches.iter().filter(|cache| cache.level == level).filter_map(|cache| cache.size_bytes).max()
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

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    #[default]
    Unified,
}

/// One cache instance as the machine describes it; the effective size may differ, see `diagnosis`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Claimed capacity.
    pub size_bytes: Option<Bytes>,
    /// Line size; `None` where the machine does not say.
    pub line_bytes: Option<Bytes>,
    /// Associativity; `Some(0)` is fully associative, as the kernel writes it.
    pub ways: Option<u32>,
    /// The CPUs that share this instance.
    pub shared_by: CpuSet,
    /// True if the machine does not say who shares it: the threads of one core are then taken, and it may be more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sharers_unknown: bool,
}

impl Cache {
    /// The usual short name: `L1d`, `L1i`, `L2`, `L3`.
    pub fn name(&self) -> String {
        let suffix = match self.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        format!("L{}{suffix}", self.level)
    }
}

/// A NUMA node as firmware describes it. A node without CPUs is a memory-only node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// The kernel's number.
    pub id: NodeId,
    /// The CPUs nearest to its memory; empty for memory-only nodes.
    pub cpus: CpuSet,
    /// Memory it holds.
    pub memory_bytes: Option<Bytes>,
    /// Memory not in use when the machine was described; of a recording, when it was recorded.
    pub free_bytes: Option<Bytes>,
    /// ACPI SLIT distances to the nodes of `Topology::distance_nodes`, in that order; 10 is local.
    pub distances: Vec<u32>,
    /// What firmware (ACPI HMAT) says of access from the best initiators.
    pub attributes: Vec<MemoryAttribute>,
    /// Memory-side caches in front of this node's memory, nearest first.
    pub side_caches: Vec<Bytes>,
}

/// One row of ACPI HMAT as sysfs shows it (`nodeN/accessC/initiators`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryAttribute {
    /// The access class: 0 is from the best initiators of any kind, 1 from the best CPUs.
    pub access_class: u32,
    /// The nodes from which the values hold.
    pub initiators: Vec<NodeId>,
    /// Read latency in ns.
    pub read_latency_ns: Option<u64>,
    /// Write latency in ns.
    pub write_latency_ns: Option<u64>,
    /// Read bandwidth in MB/s (10^6 bytes).
    pub read_bandwidth_mb_per_s: Option<u64>,
    /// Write bandwidth in MB/s (10^6 bytes).
    pub write_bandwidth_mb_per_s: Option<u64>,
}

/// What a translation look-aside buffer translates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TlbKind {
    /// Loads and stores.
    Data,
    /// Loads only.
    Load,
    /// Stores only.
    Store,
    /// Instruction fetch.
    Instruction,
    /// All of them.
    Unified,
}

/// One TLB for one set of page sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tlb {
    /// 1 is nearest to the core.
    pub level: u8,
    /// What it translates.
    pub kind: TlbKind,
    /// Page sizes it holds; shared entries list several.
    pub page_bytes: Vec<Bytes>,
    /// Number of entries.
    pub entries: u32,
    /// Associativity; `None` if CPUID does not say, `Some(0)` is fully associative.
    pub ways: Option<u32>,
}
