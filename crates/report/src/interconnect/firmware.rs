//! Links that firmware and hardware report: the document.

use models::interconnect::FirmwareGraph;
use serde::Serialize;

/// What ACPI HMAT claims of one node's memory, from the initiators that reach it best.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryClaim {
    /// The node.
    pub node: u32,
    /// From which nodes.
    pub initiators: Vec<u32>,
    /// In ns, if more than 0.
    pub read_latency_ns: Option<u64>,
    /// In 10^6 bytes per second, if more than 0.
    pub read_bandwidth_mb_per_s: Option<u64>,
}

/// What ACPI SRAT says of one proximity domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DomainClaim {
    /// Its number.
    pub domain: u32,
    /// Processors.
    pub processors: u32,
    /// Bytes of memory that forgets.
    pub memory_bytes: u64,
    /// Bytes of memory that does not.
    pub persistent_bytes: u64,
}

/// Where a root of PCI is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PciClaim {
    /// As the kernel names it.
    pub root: String,
    /// The node, if its devices say.
    pub node: Option<u32>,
    /// Devices that were asked.
    pub devices: usize,
}

/// Everything that a machine tells of its links.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareLinks {
    /// Version of the document.
    pub schema: u32,
    /// A graph per source.
    pub graphs: Vec<FirmwareGraph>,
    /// ACPI HMAT.
    pub claims: Vec<MemoryClaim>,
    /// Proximity domains of SRAT.
    pub domains: Vec<DomainClaim>,
    /// Roots of PCI and the nodes they are near to.
    pub pci_roots: Vec<PciClaim>,
    /// Measured latencies by the number of links of each source.
    pub measured: Vec<String>,
    /// Where sources differ.
    pub findings: Vec<String>,
    /// Sources that tell nothing, and why.
    pub missing: Vec<String>,
}
