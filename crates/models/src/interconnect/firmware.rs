//! The graph that hardware was set up with: from AMD's routing registers, from Intel's UPI ports; and the latencies of ACPI HMAT, of
//! which the kernel shows the best initiator only.
//!
//! A routing register of node n says by which of its links packets to node d leave, and to which links a broadcast that
//! began at d is passed on: the tree that probes take. It does not say who is at the other end of a link. That follows:
//! ends are paired so that every packet that is sent along the links arrives.

use machine::acpi::{Access, LocalityKind, LocalityMatrix};
use machine::{NorthbridgeNode, UpiPort};
use serde::Serialize;

use super::graph::{Graph, Hops};
use super::inference::{Inference, Verdict};
use super::matrix::{Matrix, Unit};

/// The first family with nine bits per field: BKDG for AMD Family 10h (31116), F0x40.
const WIDE_FAMILY: u32 = 0x10;
/// Families whose nodes have routing registers of either form.
const FAMILIES: std::ops::RangeInclusive<u32> = 0x0f..=0x15;
/// A link that is connected, initialised and coherent: bits 4, 2, 1 and 0 of its type, of which the last two are set.
const LINK_TYPE_MASK: u32 = 0x17;
const LINK_TYPE_COHERENT: u32 = 0x03;
/// Pairings that are tried before giving up: real boards need a few dozen.
const PAIRINGS_MAX: usize = 20_000;

/// The links that one source tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareGraph {
    /// Where from.
    pub source: String,
    /// Why it names no links, if it does not.
    #[serde(rename = "untold")]
    pub undetermined: Option<String>,
    /// Nodes or dies, by number.
    pub nodes: Vec<u32>,
    /// Links between them.
    pub edges: Vec<[u32; 2]>,
    /// Links to the farthest node; empty if they do not join all.
    pub eccentricities: Vec<u32>,
    /// Links that a probe from each node passes at most, by the tree of its broadcasts; empty if not known.
    pub probe_depths: Vec<u32>,
}

/// Why registers make no graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FirmwareError {
    /// Nodes of which the registers are not all there.
    #[error(
        "routing registers: node {0} names no routes; read them as root, or record sys/bus/pci/devices/*/config whole"
    )]
    Unreadable(u32),
    /// Not of a family that is known.
    #[error("routing registers: family {0:#x} is not one of 0Fh to 15h")]
    UnknownFamily(u32),
    /// Ends of links that cannot be paired.
    #[error(
        "routing registers: no way to pair the ends of links lets all packets arrive; the registers contradict each other"
    )]
    Contradiction,
}

/// Fields of a routing register.
struct Layout {
    links: usize,
    response_shift: u32,
    broadcast_shift: u32,
    field_mask: u32,
}

impl Layout {
    /// Coreboot, `amdk8/coherent_ht.c` and `amdht/h3ncmn.c`: fields of four bits each 8, later of nine bits each 9.
    fn of(family: u32) -> Self {
        if family < WIDE_FAMILY {
            Self { links: 3, response_shift: 8, broadcast_shift: 16, field_mask: 0xf }
        } else {
            Self { links: 8, response_shift: 9, broadcast_shift: 18, field_mask: 0x1ff }
        }
    }

    /// The links of a field: bit 0 is the node itself, bit l + 1 is link l.
    fn links(&self, register: u32, shift: u32) -> Vec<usize> {
        let field = register >> shift & self.field_mask;
        (0..self.links).filter(|link| field >> (link + 1) & 1 == 1).collect()
    }
}

/// One end of a link: node and its link.
type End = (usize, usize);

struct Registers {
    layout: Layout,
    nodes: usize,
    /// By node and destination.
    routes: Vec<Vec<u32>>,
    /// Coherent ends.
    ends: Vec<End>,
    /// For each end the others that it may be paired with: packets to either node leave by the end of the other.
    fitting: Vec<Vec<usize>>,
}

/// The graph of AMD's registers; none if the machine has one node.
///
/// # Errors
/// Registers that cannot be read or contradict each other.
pub fn northbridge_graph(
    nodes: &[NorthbridgeNode],
    family: u32,
) -> Result<Option<FirmwareGraph>, FirmwareError> {
    if !FAMILIES.contains(&family) {
        return Err(FirmwareError::UnknownFamily(family));
    }
    let count = nodes.iter().map(|node| node.node_count as usize).max().unwrap_or(0).min(8);
    if count < 2 {
        return Ok(None);
    }
    let registers = registers(nodes, count, family)?;
    let mut left = PAIRINGS_MAX;
    let mut peers = vec![None; registers.ends.len()];
    if !registers.pair(&mut peers, &mut left) {
        return Err(FirmwareError::Contradiction);
    }
    let mut graph = Graph::new(count);
    for (end, peer) in registers.ends.iter().zip(&peers) {
        if let Some(peer) = peer {
            graph.set(end.0, registers.ends[*peer].0, true);
        }
    }
    let probe_depths = (0..count).map(|node| registers.probe_depth(&peers, node)).collect();
    Ok(Some(graph_of("AMD routing registers", (0..count as u32).collect(), &graph, probe_depths)))
}

impl FirmwareGraph {
    /// What a matrix tells: of distances, or measured.
    pub fn of_inference(source: &str, inference: &Inference) -> Self {
        let is_identified = inference.verdict == Verdict::Identified;
        Self {
            source: source.to_owned(),
            undetermined: (!is_identified).then(|| inference.reason.clone()),
            nodes: inference.nodes.clone(),
            edges: if is_identified { inference.edges.clone() } else { Vec::new() },
            eccentricities: if is_identified { inference.eccentricities.clone() } else { Vec::new() },
            probe_depths: Vec::new(),
        }
    }
}

/// Where sources contradict each other, or one knows what another does not tell.
pub fn differences(graphs: &[FirmwareGraph]) -> Vec<String> {
    let mut found = Vec::new();
    for (place, one) in graphs.iter().enumerate() {
        let deeper = one
            .probe_depths
            .iter()
            .zip(&one.eccentricities)
            .zip(&one.nodes)
            .filter(|((depth, far), _)| depth > far);
        found.extend(deeper.map(|((depth, far), node)| {
            format!(
                "{}: probes of node {node} pass {depth} links, though no node is farther than {far}",
                one.source
            )
        }));
        for other in &graphs[place + 1..] {
            found.extend(difference(one, other));
        }
    }
    found
}

/// What was measured, by the number of links that a source tells: "0: 80 ns, 1: 122 ns, 2: 145 ns".
pub fn measured_by_links(graph: &FirmwareGraph, matrix: &Matrix) -> Option<String> {
    if graph.undetermined.is_some() || graph.nodes != matrix.nodes {
        return None;
    }
    let hops = Graph::of_numbered(&graph.nodes, &graph.edges)?.hops()?;
    let of = |links: u32| {
        let entries = matrix.known().filter(|(row, column, _)| hops.between(*row, *column) == links);
        let values: Vec<f64> = entries.map(|(_, _, value)| value).collect();
        let mean = stats::mean(&values);
        (!values.is_empty()).then(|| format!("{links}: {mean:.0} {}", matrix.unit.name()))
    };
    let classes: Vec<String> = (0..=hops.diameter()).filter_map(of).collect();
    Some(format!("measured by the links of {}, {}", graph.source, classes.join(", ")))
}

fn difference(one: &FirmwareGraph, other: &FirmwareGraph) -> Option<String> {
    let listed = |edges: &[[u32; 2]]| {
        edges.iter().map(|[from, to]| format!("{from}-{to}")).collect::<Vec<_>>().join(" ")
    };
    match (&one.undetermined, &other.undetermined) {
        (None, None) => {}
        (Some(_), Some(_)) => return None,
        (Some(_), None) => {
            return Some(format!(
                "{} names no links; by {} they are {}",
                one.source,
                other.source,
                listed(&other.edges)
            ));
        }
        (None, Some(_)) => {
            return Some(format!(
                "{} names no links; by {} they are {}",
                other.source,
                one.source,
                listed(&one.edges)
            ));
        }
    }
    if one.nodes.len() != other.nodes.len() {
        return Some(format!(
            "{} counts {} nodes, {} {}: a socket can have several nodes, so their links cannot be compared",
            one.source,
            one.nodes.len(),
            other.source,
            other.nodes.len()
        ));
    }
    let only = |of: &FirmwareGraph, not: &FirmwareGraph| {
        let edges: Vec<[u32; 2]> =
            of.edges.iter().filter(|edge| !not.edges.contains(edge)).copied().collect();
        (!edges.is_empty()).then(|| format!("only by {} there is {}", of.source, listed(&edges)))
    };
    let differing: Vec<String> = [only(one, other), only(other, one)].into_iter().flatten().collect();
    (!differing.is_empty()).then(|| differing.join("; "))
}

fn graph_of(source: &str, nodes: Vec<u32>, graph: &Graph, probe_depths: Vec<u32>) -> FirmwareGraph {
    FirmwareGraph {
        source: source.to_owned(),
        undetermined: None,
        edges: graph.numbered_links(&nodes),
        eccentricities: graph.hops().as_ref().map(Hops::eccentricities).unwrap_or_default(),
        nodes,
        probe_depths,
    }
}

fn registers(nodes: &[NorthbridgeNode], count: usize, family: u32) -> Result<Registers, FirmwareError> {
    let layout = Layout::of(family);
    let mut routes = Vec::new();
    let mut ends = Vec::new();
    for number in 0..count {
        let unreadable = FirmwareError::Unreadable(number as u32);
        let node = nodes.iter().find(|node| node.node == number as u32).ok_or(unreadable.clone())?;
        let row: Option<Vec<u32>> = (0..count).map(|to| node.routes.get(to).copied().flatten()).collect();
        routes.push(row.ok_or(unreadable)?);
        let is_coherent = |link: &usize| {
            let kind = node.link_types.get(*link).copied().flatten();
            kind.is_some_and(|kind| kind & LINK_TYPE_MASK == LINK_TYPE_COHERENT)
        };
        ends.extend((0..layout.links).filter(is_coherent).map(|link| (number, link)));
    }
    let mut registers = Registers { layout, nodes: count, routes, ends, fitting: Vec::new() };
    let fits = |end: End, other: End| registers.leads(end, other.0) && registers.leads(other, end.0);
    let fitting =
        |end: &End| (0..registers.ends.len()).filter(|other| fits(*end, registers.ends[*other])).collect();
    registers.fitting = registers.ends.iter().map(fitting).collect();
    Ok(registers)
}

impl Registers {
    /// Whether packets from an end's node to another one leave by it.
    fn leads(&self, end: End, to: usize) -> bool {
        let register = self.routes[end.0][to];
        end.0 != to
            && [0, self.layout.response_shift]
                .iter()
                .any(|shift| self.layout.links(register, *shift).contains(&end.1))
    }

    /// Pairs the ends that are left, those with the fewest choices first; true once all packets arrive.
    fn pair(&self, peers: &mut [Option<usize>], left: &mut usize) -> bool {
        let choices = |end: usize| -> Vec<usize> {
            self.fitting[end].iter().copied().filter(|other| peers[*other].is_none()).collect()
        };
        let open = (0..self.ends.len()).filter(|end| peers[*end].is_none());
        let next = open.map(|end| (end, choices(end))).min_by_key(|(_, choices)| choices.len());
        let Some((end, choices)) = next else { return self.all_arrive(peers) };
        for other in choices {
            let Some(rest) = left.checked_sub(1) else { return false };
            *left = rest;
            (peers[end], peers[other]) = (Some(other), Some(end));
            if self.pair(peers, left) {
                return true;
            }
            (peers[end], peers[other]) = (None, None);
        }
        false
    }

    fn peer(&self, peers: &[Option<usize>], end: End) -> Option<usize> {
        let place = self.ends.iter().position(|other| *other == end)?;
        Some(self.ends[peers[place]?].0)
    }

    /// Whether a request from each node gets to each other one.
    fn all_arrive(&self, peers: &[Option<usize>]) -> bool {
        let arrives = |from: usize, to: usize| {
            let mut at = from;
            for _ in 0..self.nodes {
                if at == to {
                    return true;
                }
                let links = self.layout.links(self.routes[at][to], 0);
                let Some(next) = links.first().and_then(|link| self.peer(peers, (at, *link))) else {
                    return false;
                };
                at = next;
            }
            at == to
        };
        (0..self.nodes).all(|from| (0..self.nodes).all(|to| arrives(from, to)))
    }

    /// Links that a broadcast of `source` passes at most.
    fn probe_depth(&self, peers: &[Option<usize>], source: usize) -> u32 {
        let mut depth = vec![None; self.nodes];
        depth[source] = Some(0);
        let mut reached = vec![source];
        let mut place = 0;
        while let Some(&node) = reached.get(place) {
            place += 1;
            for link in self.layout.links(self.routes[node][source], self.layout.broadcast_shift) {
                if let Some(next) = self.peer(peers, (node, link)).filter(|next| depth[*next].is_none()) {
                    depth[next] = depth[node].map(|depth| depth + 1);
                    reached.push(next);
                }
            }
        }
        depth.into_iter().flatten().max().unwrap_or(0)
    }
}

/// The graph of UPI ports; none if there are none.
pub fn upi_graph(ports: &[UpiPort]) -> Option<FirmwareGraph> {
    let mut dies: Vec<u32> = ports.iter().flat_map(|port| [port.die, port.peer_die]).collect();
    dies.sort_unstable();
    dies.dedup();
    let place = |die: u32| dies.binary_search(&die).ok();
    let mut graph = Graph::new(dies.len());
    for port in ports {
        if let (Some(from), Some(to)) = (place(port.die), place(port.peer_die))
            && from != to
        {
            graph.set(from, to, true);
        }
    }
    (!graph.links().is_empty()).then(|| graph_of("Intel UPI ports", dies, &graph, Vec::new()))
}

/// The matrix of read latencies, else of any access, between the domains that have both processors and memory; none if the table has
/// fewer than two, or is empty.
pub fn hmat_latencies(matrices: &[LocalityMatrix]) -> Option<Matrix> {
    /// HMAT counts picoseconds.
    const PS_PER_NS: f64 = 1e3;
    let kinds = [Access::Read, Access::Any].map(LocalityKind::Latency);
    let of = kinds.iter().find_map(|kind| matrices.iter().find(|of| of.is_memory && of.kind == *kind))?;
    let mut domains: Vec<u32> =
        of.initiators.iter().copied().filter(|domain| of.targets.contains(domain)).collect();
    domains.sort_unstable();
    domains.dedup();
    let place = |list: &[u32], domain: u32| list.iter().position(|other| *other == domain);
    let entry = |from: u32, to: u32| {
        let place = place(&of.initiators, from)? * of.targets.len() + place(&of.targets, to)?;
        of.entries.get(place).copied().flatten().map(|picoseconds| picoseconds as f64 / PS_PER_NS)
    };
    let row = |from: &u32| domains.iter().map(|to| entry(*from, *to)).collect::<Vec<_>>();
    let rows: Vec<Vec<Option<f64>>> = domains.iter().map(row).collect();
    let has_any = rows.iter().flatten().any(Option::is_some);
    let mut matrix =
        Matrix::of_rows(Unit::Nanoseconds, &rows).ok().filter(|_| domains.len() > 1 && has_any)?;
    matrix.nodes = domains;
    Some(matrix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Registers of a board whose links are numbered by the order of neighbours, with shortest routes and trees.
    fn board(graph: &Graph, family: u32) -> Vec<NorthbridgeNode> {
        let hops = graph.hops().expect("connected");
        let layout = Layout::of(family);
        let link =
            |node: usize, to: usize| graph.neighbours(node).position(|other| other == to).expect("linked");
        let toward = |node: usize, to: usize| {
            graph
                .neighbours(node)
                .find(|next| hops.between(*next, to) < hops.between(node, to))
                .expect("a way")
        };
        let route = |node: usize, to: usize| {
            let direct = if node == to { 1 } else { 1 << (link(node, toward(node, to)) + 1) };
            // A broadcast of `to` is passed on to those that this node is on the way of.
            let passed = graph.neighbours(node).filter(|next| *next != to && toward(*next, to) == node);
            let passed = passed.fold(1, |field, next| field | 1 << (link(node, next) + 1));
            direct | direct << layout.response_shift | passed << layout.broadcast_shift
        };
        let node = |number: usize| NorthbridgeNode {
            node: number as u32,
            node_count: graph.nodes() as u32,
            routes: (0..8).map(|to| Some(if to < graph.nodes() { route(number, to) } else { 0 })).collect(),
            link_types: (0..8)
                .map(|link| Some(if link < graph.neighbours(number).count() { 3 } else { 0 }))
                .collect(),
        };
        (0..graph.nodes()).map(node).collect()
    }

    #[test]
    fn the_probe_tree_of_the_blade_is_two_links_deep_on_the_outer_sockets() {
        let diamond = Graph::of_links(4, &[[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]).expect("a graph");
        for family in [0x0f, 0x10, 0x15] {
            let found =
                northbridge_graph(&board(&diamond, family), family).expect("sound").expect("four nodes");
            assert_eq!(found.probe_depths, [2, 1, 1, 2]);
            assert_eq!(found.edges, [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]);
        }
    }

    #[test]
    fn boards_of_eight_nodes_are_read_back() {
        // A ladder, as boards of eight sockets had, and the four-regular graph of a Magny-Cours.
        let ladder = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7]];
        let regular = [
            [0, 1],
            [0, 2],
            [0, 4],
            [0, 6],
            [1, 3],
            [1, 5],
            [1, 7],
            [2, 3],
            [2, 4],
            [2, 6],
            [3, 5],
            [3, 7],
            [4, 5],
            [4, 6],
            [5, 7],
            [6, 7],
        ];
        for (links, family) in [(ladder.as_slice(), 0x0f), (regular.as_slice(), 0x10)] {
            let graph = Graph::of_links(8, links).expect("a graph");
            let found =
                northbridge_graph(&board(&graph, family), family).expect("sound").expect("eight nodes");
            let edges: Vec<[usize; 2]> =
                found.edges.iter().map(|[a, b]| [*a as usize, *b as usize]).collect();
            assert_eq!(edges, graph.links());
            assert_eq!(found.probe_depths, graph.hops().expect("connected").eccentricities());
        }
    }

    #[test]
    fn what_is_missing_or_contradicts_itself_is_an_error() {
        let pair = Graph::of_links(2, &[[0, 1]]).expect("a graph");
        let mut nodes = board(&pair, 0x10);
        assert_eq!(northbridge_graph(&nodes[..1], 0x10), Err(FirmwareError::Unreadable(1)));
        assert_eq!(northbridge_graph(&nodes, 0x17), Err(FirmwareError::UnknownFamily(0x17)));
        nodes[0].link_types = vec![Some(0); 8];
        assert_eq!(northbridge_graph(&nodes, 0x10), Err(FirmwareError::Contradiction));
        assert_eq!(northbridge_graph(&[], 0x10), Ok(None));
    }

    #[test]
    fn ports_of_four_and_of_eight_sockets_are_joined() {
        let port = |die, link, peer_die, peer_link| UpiPort { die, link, peer_die, peer_link };
        // The four dies of the kernel's example: each linked to each.
        let mesh = [
            port(0, 0, 1, 1),
            port(0, 1, 2, 1),
            port(0, 2, 3, 2),
            port(1, 0, 3, 1),
            port(1, 2, 2, 2),
            port(2, 0, 3, 0),
        ];
        let found = upi_graph(&mesh).expect("links");
        assert_eq!((found.edges.len(), found.eccentricities.as_slice()), (6, [1, 1, 1, 1].as_slice()));
        let ring: Vec<UpiPort> = (0..8).map(|die| port(die, 0, (die + 1) % 8, 1)).collect();
        assert_eq!(upi_graph(&ring).expect("links").eccentricities, [4; 8]);
        assert_eq!(upi_graph(&[]), None);
    }

    #[test]
    fn sources_that_contradict_each_other_are_named() {
        let source = |name: &str, edges: &[[u32; 2]], undetermined: Option<&str>| FirmwareGraph {
            source: name.to_owned(),
            undetermined: undetermined.map(str::to_owned),
            nodes: vec![0, 1, 2],
            edges: edges.to_vec(),
            eccentricities: vec![1, 1, 1],
            probe_depths: vec![1, 2, 1],
        };
        let (slit, ports) = (source("SLIT", &[], Some("flat")), source("ports", &[[0, 1], [1, 2]], None));
        let measured = source("measured", &[[0, 1], [0, 2]], None);
        let found = differences(&[slit, ports, measured]);
        for said in [
            "SLIT names no links; by ports they are 0-1 1-2",
            "only by ports there is 1-2; only by measured there is 0-2",
            "node 1 pass 2 links",
        ] {
            assert!(found.iter().any(|one| one.contains(said)), "{said}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn no_registers_make_it_panic(
            words in proptest::collection::vec(proptest::collection::vec(any::<u32>(), 16), 1..9),
            family in 0x0f_u32..0x16,
        ) {
            let count = words.len() as u32;
            let node = |(node, words): (usize, &Vec<u32>)| NorthbridgeNode {
                node: node as u32,
                node_count: count,
                routes: words[..8].iter().copied().map(Some).collect(),
                link_types: words[8..].iter().map(|word| Some(word & 0x17)).collect(),
            };
            let nodes: Vec<NorthbridgeNode> = words.iter().enumerate().map(node).collect();
            let _ = northbridge_graph(&nodes, family);
        }
    }

    fn table(entries: [u64; 6]) -> LocalityMatrix {
        LocalityMatrix {
            kind: LocalityKind::Latency(Access::Read),
            is_memory: true,
            initiators: vec![1, 0],
            targets: vec![0, 1, 2],
            entries: entries.map(|entry| Some(entry).filter(|entry| *entry > 0)).to_vec(),
        }
    }

    #[test]
    fn rows_and_columns_are_put_in_the_order_of_the_nodes_and_memory_alone_is_left_out() {
        let matrix = hmat_latencies(&[table([130_000, 80_000, 300_000, 79_000, 131_000, 310_000])]);
        let matrix = matrix.expect("two nodes");
        assert_eq!((matrix.nodes.as_slice(), matrix.at(0, 0)), ([0, 1].as_slice(), Some(79.0)));
        assert_eq!(
            (matrix.at(0, 1), matrix.at(1, 0), matrix.at(1, 1)),
            (Some(131.0), Some(130.0), Some(80.0))
        );
        assert_eq!(hmat_latencies(&[table([0; 6])]), None);
        assert_eq!(hmat_latencies(&[]), None);
    }
}
