//! Links that firmware and hardware report: whether the sources agree, and what each says.

use machine::Bytes;
use models::interconnect::FirmwareGraph;

use crate::interconnect::{FirmwareLinks, node_links};
use crate::number::{self, UNKNOWN};
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// Roots of PCI on a first screen.
const ROOTS_FIRST: usize = 16;

/// The sources as a page.
pub fn firmware_links_page(links: &FirmwareLinks) -> Page {
    let sources = sources(links);
    let mut sections = vec![Section::new("sources", "").with(Block::Table(sources))];
    for (id, title, table) in [
        ("memory", "HMAT: memory as its nearest initiators see it", claims(links)),
        ("domains", "SRAT: proximity domains", domains(links)),
        ("pci", "PCI: nodes of the root buses", pci_roots(links)),
    ] {
        if !table.rows.is_empty() {
            sections.push(Section::new(id, title).with(Block::Table(table)));
        }
    }
    Page {
        subject: "Links that firmware and hardware report".to_owned(),
        answer: answer(links),
        because: because(links),
        sections,
        ..Page::default()
    }
}

fn answer(links: &FirmwareLinks) -> Statement {
    let reporting = links.graphs.iter().filter(|graph| graph.untold.is_none()).count();
    match links.findings.as_slice() {
        [first, ..] => Statement::new(Tone::Look, format!("The sources differ: {first}.")),
        [] if reporting > 1 => Statement::new(Tone::Good, "The sources agree."),
        [] => Statement::new(Tone::Doubt, "Undetermined: no two sources report links to compare."),
    }
}

fn because(links: &FirmwareLinks) -> Vec<Statement> {
    let of = |tone: Tone, lines: &[String]| -> Vec<Statement> {
        lines.iter().map(|line| Statement::new(tone, line)).collect()
    };
    let missing = (!links.missing.is_empty())
        .then(|| Statement::new(Tone::Faint, format!("Not available: {}.", links.missing.join("; "))));
    let differing = links.findings.get(1..).unwrap_or_default();
    [of(Tone::Look, differing), of(Tone::Plain, &links.measured)]
        .concat()
        .into_iter()
        .chain(missing)
        .collect()
}

fn sources(links: &FirmwareLinks) -> Table {
    let columns = vec![
        Column::word("source"),
        Column::prose("links"),
        Column::prose("links to the farthest node").priority(1),
        Column::prose("links that a broadcast passes").priority(2),
    ];
    let mut table = Table::new("sources", columns);
    for graph in &links.graphs {
        let told =
            graph.untold.as_ref().map_or_else(|| node_links(&graph.edges), |why| format!("none: {why}"));
        table.row(vec![
            Cell::text(&graph.source),
            Cell::text(told),
            Cell::text(by_node(graph, &graph.eccentricities)),
            Cell::text(by_node(graph, &graph.probe_depths)),
        ]);
    }
    table
}

/// `0: 2, 1: 1`.
fn by_node(graph: &FirmwareGraph, values: &[u32]) -> String {
    let each = graph.nodes.iter().zip(values).map(|(node, value)| format!("{node}: {value}"));
    each.collect::<Vec<_>>().join(", ")
}

fn claims(links: &FirmwareLinks) -> Table {
    let columns = vec![
        Column::number("node", ""),
        Column::word("from nodes"),
        Column::number("latency", "ns"),
        Column::number("bandwidth", "GB/s"),
    ];
    let mut table = Table::new("memory", columns);
    for claim in &links.claims {
        let from: Vec<String> = claim.initiators.iter().map(u32::to_string).collect();
        let from = if from.is_empty() { "the best initiators".to_owned() } else { from.join(", ") };
        let rate = claim.read_bandwidth_mb_per_s.map(|rate| rate as f64 / 1e3);
        table.row(vec![
            Cell::count(claim.node as usize),
            Cell::text(from),
            claim.read_latency_ns.map_or(Cell::Empty, |ns| Cell::count(ns as usize)),
            rate.map_or(Cell::Empty, |rate| Cell::shown(number::short(rate), rate)),
        ]);
    }
    table
}

fn domains(links: &FirmwareLinks) -> Table {
    let columns = vec![
        Column::number("domain", ""),
        Column::number("processors", ""),
        Column::number("memory", ""),
        Column::number("persistent", ""),
    ];
    let mut table = Table::new("domains", columns);
    let size = |bytes: u64| Cell::shown(number::size(Bytes(bytes)), bytes as f64);
    for domain in &links.domains {
        table.row(vec![
            Cell::count(domain.domain as usize),
            Cell::count(domain.processors as usize),
            size(domain.memory_bytes),
            if domain.persistent_bytes == 0 { Cell::Empty } else { size(domain.persistent_bytes) },
        ]);
    }
    table
}

fn pci_roots(links: &FirmwareLinks) -> Table {
    let columns =
        vec![Column::word("root"), Column::word("node"), Column::number("devices asked", "").priority(1)];
    let mut table = Table { first_rows: Some(ROOTS_FIRST), ..Table::new("pci", columns) };
    for claim in &links.pci_roots {
        let node = claim.node.map_or_else(|| UNKNOWN.to_owned(), |node| node.to_string());
        table.row(vec![Cell::text(&claim.root), Cell::text(node), Cell::count(claim.devices)]);
    }
    table
}
