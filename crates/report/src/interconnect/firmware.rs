//! Links that firmware and hardware tell, in the terminal.

use machine::Bytes;
use models::interconnect::FirmwareGraph;
use serde::Serialize;

use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal};

/// Roots of PCI shown; --json has all.
const ROOTS_SHOWN: usize = 16;

/// What ACPI HMAT claims of one node's memory, from the initiators that reach it best.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PciClaim {
    /// As the kernel names it.
    pub root: String,
    /// The node, if its devices say.
    pub node: Option<u32>,
    /// Devices that were asked.
    pub devices: usize,
}

/// Everything that a machine tells of its links.
#[derive(Debug, Clone, PartialEq, Default, Serialize, schemars::JsonSchema)]
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

/// The sources for people.
pub fn firmware_terminal(links: &FirmwareLinks, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong("Links that firmware and hardware tell");
    for graph in &links.graphs {
        paper.blank();
        paper.strong(&plain(&graph.source));
        source(&mut paper, graph);
    }
    if !links.claims.is_empty() {
        paper.blank();
        paper.strong("HMAT");
    }
    for claim in &links.claims {
        let from: Vec<String> = claim.initiators.iter().map(u32::to_string).collect();
        let from = if from.is_empty() { "the best initiators".to_owned() } else { from.join(", ") };
        let latency = claim.read_latency_ns.map(|ns| format!("{ns} ns"));
        let rate =
            claim.read_bandwidth_mb_per_s.map(|rate| format!("{} GB/s", number::short(rate as f64 / 1e3)));
        let told: Vec<String> = [latency, rate].into_iter().flatten().collect();
        paper.wrapped("  ", &format!("node {} from {}: {}", claim.node, from, told.join(", ")));
    }
    if !links.domains.is_empty() {
        paper.blank();
        paper.strong("SRAT");
    }
    for domain in &links.domains {
        let memory = number::size(Bytes(domain.memory_bytes));
        let persistent = match domain.persistent_bytes {
            0 => String::new(),
            bytes => format!(", {} persistent", number::size(Bytes(bytes))),
        };
        let told = format!("{} processors, {memory}{persistent}", domain.processors);
        paper.wrapped("  ", &format!("domain {}: {told}", domain.domain));
    }
    if !links.pci_roots.is_empty() {
        paper.blank();
        paper.strong("PCI");
    }
    for claim in links.pci_roots.iter().take(ROOTS_SHOWN) {
        let node = claim.node.map_or_else(|| "unknown".to_owned(), |node| format!("node {node}"));
        paper.wrapped("  ", &plain(&format!("{}: {node} ({} devices asked)", claim.root, claim.devices)));
    }
    paper.blank();
    for measured in &links.measured {
        paper.wrapped("", &plain(measured));
    }
    if links.findings.is_empty() {
        let told = links.graphs.iter().filter(|graph| graph.untold.is_none()).count();
        paper.wrapped(
            "",
            if told > 1 { "The sources agree." } else { "There are no two sources to compare." },
        );
    }
    for finding in &links.findings {
        paper.wrapped_inked(Ink::Warning, "! ", &plain(finding));
    }
    for missing in &links.missing {
        paper.wrapped_inked(Ink::Faint, "missing  ", &plain(missing));
    }
    paper.finish()
}

fn source(paper: &mut Paper, graph: &FirmwareGraph) {
    if let Some(why) = &graph.untold {
        paper.wrapped("  ", &plain(&format!("no links: {why}")));
        return;
    }
    let edges: Vec<String> = graph.edges.iter().map(|[from, to]| format!("{from}-{to}")).collect();
    paper.wrapped("  links  ", &edges.join(" "));
    let by_node = |values: &[u32]| {
        graph
            .nodes
            .iter()
            .zip(values)
            .map(|(node, value)| format!("{node}: {value}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if !graph.eccentricities.is_empty() {
        paper.wrapped(
            "  far    ",
            &format!("{} (links to the farthest node)", by_node(&graph.eccentricities)),
        );
    }
    if !graph.probe_depths.is_empty() {
        paper.wrapped(
            "  probes ",
            &format!("{} (links that a broadcast passes at most)", by_node(&graph.probe_depths)),
        );
    }
}
