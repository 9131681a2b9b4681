//! Links that firmware and hardware report: the document, whether the sources agree, and what each says.

use machine::Bytes;
use machine::acpi::AffinityDomain;
use models::interconnect::FirmwareGraph;
use serde::Serialize;

use super::socket_words::node_links;
use crate::number::{UNKNOWN, joined};
use crate::page::{Cell, Page, Section, Statement, Table};

/// Roots of PCI on a first screen.
const ROOTS_FIRST: usize = 16;

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
    pub domains: Vec<AffinityDomain>,
    /// Roots of PCI and the nodes they are near to.
    pub pci_roots: Vec<PciClaim>,
    /// Measured latencies by the number of links of each source.
    pub measured: Vec<String>,
    /// Where sources differ.
    pub findings: Vec<String>,
    /// Sources that tell nothing, and why.
    pub missing: Vec<String>,
}

/// The sources as a page.
pub fn firmware_links_page(links: &FirmwareLinks) -> Page {
    let sections = [
        Some(Section::new("sources", "").table(sources(links))),
        claims(links).section("HMAT: memory as its nearest initiators see it"),
        domains(links).section("SRAT: proximity domains"),
        pci_roots(links).section("PCI: nodes of the root buses"),
    ];
    Page {
        subject: "Links that firmware and hardware report".to_owned(),
        answer: answer(links),
        because: because(links),
        sections: sections.into_iter().flatten().collect(),
        ..Page::default()
    }
}

fn answer(links: &FirmwareLinks) -> Statement {
    let reporting = links.graphs.iter().filter(|graph| graph.undetermined.is_none()).count();
    match links.findings.as_slice() {
        [first, ..] => Statement::look(format!("The sources differ: {first}.")),
        [] if reporting > 1 => Statement::good("The sources agree."),
        [] => Statement::doubt("Undetermined: no two sources report links to compare."),
    }
}

fn because(links: &FirmwareLinks) -> Vec<Statement> {
    let missing = format!("Not available: {}.", links.missing.join("; "));
    (links.findings.iter().skip(1).map(Statement::look))
        .chain(links.measured.iter().map(Statement::plain))
        .chain((!links.missing.is_empty()).then(|| Statement::faint(missing)))
        .collect()
}

fn sources(links: &FirmwareLinks) -> Table {
    Table::of("sources", &links.graphs)
        .word("source", |graph| &graph.source)
        .prose("links", |graph| match &graph.undetermined {
            Some(why) => format!("none: {why}"),
            None => node_links(&graph.edges),
        })
        .prose(("links to the farthest node", 1), |graph| by_node(graph, &graph.eccentricities))
        .prose(("links that a broadcast passes", 2), |graph| by_node(graph, &graph.probe_depths))
        .table()
}

/// `0: 2, 1: 1`.
fn by_node(graph: &FirmwareGraph, values: &[u32]) -> String {
    joined(graph.nodes.iter().zip(values).map(|(node, value)| format!("{node}: {value}")), ", ")
}

fn claims(links: &FirmwareLinks) -> Table {
    let from = |claim: &MemoryClaim| match claim.initiators.as_slice() {
        [] => "the best initiators".to_owned(),
        some => joined(some, ", "),
    };
    Table::of("memory", &links.claims)
        .number("node", |claim| claim.node)
        .word("from nodes", |claim| from(claim))
        .number(("latency", "ns"), |claim| claim.read_latency_ns)
        .number(("bandwidth", "GB/s"), |claim| {
            claim.read_bandwidth_mb_per_s.map(|mb| Cell::short(mb as f64 / 1e3))
        })
        .table()
}

fn domains(links: &FirmwareLinks) -> Table {
    Table::of("domains", &links.domains)
        .number("domain", |domain| domain.domain)
        .number("processors", |domain| domain.processors)
        .number("memory", |domain| Cell::size(Bytes(domain.memory_bytes)))
        .number("persistent", |domain| {
            (domain.persistent_bytes > 0).then(|| Cell::size(Bytes(domain.persistent_bytes)))
        })
        .table()
}

fn pci_roots(links: &FirmwareLinks) -> Table {
    Table::of("pci", &links.pci_roots)
        .word("root", |claim| &claim.root)
        .word("node", |claim| claim.node.map_or_else(|| UNKNOWN.to_owned(), |node| node.to_string()))
        .number(("devices asked", 1), |claim| claim.devices)
        .first(ROOTS_FIRST)
        .table()
}
