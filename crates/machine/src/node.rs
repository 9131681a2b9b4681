//! One NUMA node: its CPUs, its memory, how far the others are.

use serde::{Deserialize, Serialize};

use crate::{Bytes, CpuSet, NodeId};

/// A NUMA node as firmware describes it. A node without CPUs is a memory-only node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
