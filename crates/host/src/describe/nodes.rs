//! NUMA nodes: CPUs, memory, distances, HMAT attributes and memory-side caches, from `/sys/devices/system/node`.

use machine::{Bytes, CpuSet, MemoryAttribute, Node, NodeId};

use super::source::{Source, meminfo_bytes, node_list, size_bytes};

/// Where the kernel describes nodes.
const NODE_FOLDER: &str = "/sys/devices/system/node";

/// The access classes the kernel has: 0 from any initiator, 1 from CPUs (Documentation/admin-guide/mm/numaperf.rst).
const ACCESS_CLASSES: [u32; 2] = [0, 1];

/// The nodes and what the columns of their distances stand for.
#[derive(Debug, Default)]
pub(super) struct Numa {
    pub(super) nodes: Vec<Node>,
    pub(super) distance_nodes: Vec<NodeId>,
}

/// Reads all nodes that are believed.
pub(super) fn read(source: &Source<'_>, online: &CpuSet) -> Numa {
    let ids: Vec<NodeId> = source.root().numbers(NODE_FOLDER, "node").into_iter().map(NodeId).collect();
    if ids.is_empty() {
        source.note(format!("{NODE_FOLDER} names no node: how many NUMA nodes there are is unknown"));
    }
    let nodes: Vec<Node> = ids.iter().map(|id| node(source, *id, online)).collect();
    let mut numa = Numa { distance_nodes: columns(source, &nodes), nodes };
    if let Some((one, other)) = overlap(&numa.nodes) {
        source.note(format!(
            "{NODE_FOLDER}: nodes {one} and {other} both claim the same CPUs, so the nodes are not believed; one is assumed"
        ));
        numa.nodes.truncate(1);
        numa.distance_nodes.clear();
        for node in &mut numa.nodes {
            node.distances.clear();
        }
    }
    numa
}

/// Two nodes that share a CPU: firmware that lies.
fn overlap(nodes: &[Node]) -> Option<(NodeId, NodeId)> {
    let mut owner = std::collections::BTreeMap::new();
    nodes.iter().find_map(|node| {
        node.cpus.iter().find_map(|cpu| owner.insert(cpu, node.id)).map(|other| (other, node.id))
    })
}

fn node(source: &Source<'_>, id: NodeId, online: &CpuSet) -> Node {
    let file = |name: &str| format!("{NODE_FOLDER}/node{id}/{name}");
    let cpus = source.cpus(&file("cpumap"), &file("cpulist")).unwrap_or_default().intersection(online);
    let meminfo = source.text(&file("meminfo")).unwrap_or_default();
    let distances = source.text(&file("distance")).unwrap_or_default();
    let numbers: Option<Vec<u32>> = distances.split_whitespace().map(|number| number.parse().ok()).collect();
    if numbers.is_none() {
        source.note(format!("{} holds something other than numbers", file("distance")));
    }
    Node {
        id,
        cpus,
        memory_bytes: meminfo_bytes(&meminfo, "MemTotal"),
        free_bytes: meminfo_bytes(&meminfo, "MemFree"),
        distances: numbers.unwrap_or_default(),
        attributes: ACCESS_CLASSES.iter().filter_map(|class| attribute(source, id, *class)).collect(),
        side_caches: side_caches(source, id),
    }
}

fn attribute(source: &Source<'_>, id: NodeId, access_class: u32) -> Option<MemoryAttribute> {
    let folder = format!("{NODE_FOLDER}/node{id}/access{access_class}/initiators");
    let value = |name: &str| source.number::<u64>(&format!("{folder}/{name}"));
    let attribute = MemoryAttribute {
        access_class,
        initiators: source.root().numbers(&folder, "node").into_iter().map(NodeId).collect(),
        read_latency_ns: value("read_latency"),
        write_latency_ns: value("write_latency"),
        read_bandwidth_mb_per_s: value("read_bandwidth"),
        write_bandwidth_mb_per_s: value("write_bandwidth"),
    };
    let empty = MemoryAttribute { access_class, ..MemoryAttribute::default() };
    (attribute != empty).then_some(attribute)
}

/// Memory-side caches, nearest to the memory's users first: the kernel numbers them from `index1` upwards.
fn side_caches(source: &Source<'_>, id: NodeId) -> Vec<Bytes> {
    let folder = format!("{NODE_FOLDER}/node{id}/memory_side_cache");
    source
        .root()
        .numbers(&folder, "index")
        .into_iter()
        .filter_map(|index| source.word(&format!("{folder}/index{index}/size")))
        .filter_map(|text| size_bytes(&text).map(Bytes))
        .collect()
}

/// The nodes that the columns stand for: the online ones, or the possible ones if the rows are that long.
///
/// The kernel writes one column per online node; edited and partial recordings can hold more. Empty, with a
/// note, if the rows do not fit either.
fn columns(source: &Source<'_>, nodes: &[Node]) -> Vec<NodeId> {
    let lengths: Vec<usize> = nodes.iter().map(|node| node.distances.len()).collect();
    if lengths.iter().all(|length| *length == 0) {
        return Vec::new();
    }
    let fits = |count: usize| lengths.iter().all(|length| *length == count);
    let online: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
    if fits(online.len()) {
        return online;
    }
    let listed = |name: &str| {
        source
            .text(&format!("{NODE_FOLDER}/{name}"))
            .and_then(|text| node_list(&text))
            .map(|ids| ids.into_iter().collect::<Vec<NodeId>>())
    };
    if let Some(ids) =
        ["online", "possible"].iter().filter_map(|name| listed(name)).find(|ids| fits(ids.len()))
    {
        return ids;
    }
    source.note(format!("{NODE_FOLDER}: distance rows have {lengths:?} columns for {} nodes", nodes.len()));
    Vec::new()
}
