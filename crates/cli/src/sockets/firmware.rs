//! `sidestep sockets firmware`: the links that each source of a machine reports, and where they differ.

use std::path::PathBuf;

use clap::Args;
use host::Root;
use machine::{Machine, Vendor};
use models::interconnect::{
    self, FirmwareGraph, Matrix, contrast, differences, hmat_latencies, infer, measured_by_links,
    northbridge_graph, upi_graph,
};
use record::SocketLinks;
use report::{FirmwareLinks, MemoryClaim, PciClaim};

use super::infer;
use crate::forms::Forms;
use crate::options::Global;
use crate::outcome::Outcome;

/// Version of the JSON document of this command.
const SCHEMA: u32 = 1;

/// What the distances of firmware are called.
const SLIT: &str = "SLIT";

/// Options of `sockets firmware`.
#[derive(Debug, Clone, Args)]
pub(super) struct FirmwareArguments {
    /// Read a recorded machine: a directory or tarball with proc/ and sys/
    #[arg(long, value_name = "DIR|TARBALL")]
    sysroot: Option<PathBuf>,
    /// Hold it against what was measured: a record of sidestep sockets, CSV or output of Intel MLC
    #[arg(long, value_name = "MATRIX")]
    against: Option<PathBuf>,
    #[command(flatten)]
    forms: Forms,
}

/// Reads all sources and prints in the form asked for.
pub(super) fn firmware(arguments: &FirmwareArguments, global: &Global) -> anyhow::Result<Outcome> {
    let root = arguments.sysroot.as_deref().map_or_else(|| Ok(Root::live()), Root::open)?;
    let machine = host::describe(&root, None);
    let mut links = of_machine(&machine, &root);
    let mut contrasted = Vec::new();
    if let Some(path) = &arguments.against {
        let given = infer::of_nodes(infer::of_file(path)?)?;
        let inference = infer(&given.reading.matrix);
        let slit = Matrix::of_machine(&machine).ok();
        contrasted.extend(slit.and_then(|slit| contrast(&slit, &given.reading.matrix, &inference)));
        let by_links =
            links.graphs.iter().filter_map(|graph| measured_by_links(graph, &given.reading.matrix));
        links.measured = by_links.collect();
        links.graphs.push(FirmwareGraph::of_inference(&format!("the matrix {}", given.name), &inference));
    }
    contrasted.extend(differences(&links.graphs));
    contrasted.extend(domains_of_nodes(&links, &machine));
    links.findings = contrasted;
    let page = report::firmware_links_page(&links);
    arguments.forms.print(&page, &links, global)?;
    Ok(Outcome::judged(global, !links.findings.is_empty(), false))
}

/// The links that sources report, the most trusted first: routes that packets take, ports, what firmware says of distances.
pub(super) fn reported(machine: &Machine, root: &Root) -> Vec<SocketLinks> {
    let mut graphs = of_machine(machine, root).graphs;
    // SLIT is read first and trusted least.
    graphs.sort_by_key(|graph| graph.source == SLIT || graph.source.starts_with("HMAT"));
    let known = graphs.into_iter().filter(|graph| graph.undetermined.is_none());
    known.map(|graph| SocketLinks { source: graph.source, nodes: graph.nodes, edges: graph.edges }).collect()
}

fn of_machine(machine: &Machine, root: &Root) -> FirmwareLinks {
    let mut links = FirmwareLinks { schema: SCHEMA, ..FirmwareLinks::default() };
    match Matrix::of_machine(machine) {
        Ok(distances) => links.graphs.push(FirmwareGraph::of_inference(SLIT, &infer(&distances))),
        Err(error) => links.missing.push(format!("SLIT: {error}")),
    }
    match routing(machine, root) {
        Ok(Some(graph)) => links.graphs.push(graph),
        Ok(None) => links.missing.push("AMD routing registers: none shown".to_owned()),
        Err(error) => links.missing.push(error.to_string()),
    }
    match upi_graph(&host::upi_ports(root)) {
        Some(graph) => links.graphs.push(graph),
        None => links.missing.push("Intel UPI ports: none shown".to_owned()),
    }
    let claims = machine.topology.nodes.iter().flat_map(|node| {
        node.attributes.iter().map(|attribute| MemoryClaim {
            node: node.id.0,
            initiators: attribute.initiators.iter().map(|initiator| initiator.0).collect(),
            read_latency_ns: attribute.read_latency_ns.filter(|ns| *ns > 0),
            read_bandwidth_mb_per_s: attribute.read_bandwidth_mb_per_s.filter(|rate| *rate > 0),
        })
    });
    links.claims = claims
        .filter(|claim| claim.read_latency_ns.is_some() || claim.read_bandwidth_mb_per_s.is_some())
        .collect();
    match host::hmat(root).map(|matrices| hmat_latencies(&matrices)) {
        Ok(Some(latencies)) => {
            links.graphs.push(FirmwareGraph::of_inference("HMAT (table)", &infer(&latencies)));
        }
        Ok(None) => links.missing.push("HMAT (table): no latencies of two nodes".to_owned()),
        Err(_) if links.claims.is_empty() => {
            links.missing.push("HMAT: no latency and no bandwidth above 0".to_owned());
        }
        Err(error) => links.missing.push(format!("HMAT (table): {error}")),
    }
    match host::srat(root) {
        Ok(domains) => links.domains = domains,
        Err(error) => links.missing.push(format!("SRAT: {error}")),
    }
    let roots = host::pci_roots(root).into_iter();
    links.pci_roots = roots
        .map(|of| PciClaim { root: of.name, node: of.node.map(|node| node.0), devices: of.devices })
        .collect();
    links
}

/// Domains with memory that the kernel does not show as nodes.
fn domains_of_nodes(links: &FirmwareLinks, machine: &Machine) -> Option<String> {
    let domains = links.domains.iter().filter(|domain| domain.memory_bytes > 0).count();
    let nodes = machine.topology.nodes.len();
    (domains > nodes).then(|| {
        format!("SRAT has {domains} domains with memory and the kernel shows {nodes} nodes: numa=off, or a kernel without NUMA")
    })
}

/// AMD's registers, where the machine is of a family that has them.
fn routing(machine: &Machine, root: &Root) -> Result<Option<FirmwareGraph>, interconnect::FirmwareError> {
    let family = machine.identity.family.filter(|_| machine.identity.vendor == Some(Vendor::Amd));
    let nodes = host::northbridge_nodes(root);
    match family {
        Some(family) if !nodes.is_empty() => northbridge_graph(&nodes, family),
        _ => Ok(None),
    }
}
