//! A machine as hwloc's XML, version 2: packages, caches, cores and processors, memory, and on them what was measured.
//!
//! hwloc measures nothing itself; what stands here its users see as `lstopo --distances` and `--memattrs`. Version 2 is what
//! hwloc 2.0 and all later ones read. Values there are whole numbers. hwloc keeps no distances of a single node: that has its
//! memory attributes.

mod tree;

use std::collections::BTreeMap;
use std::fmt::Write;

use machine::{CoreKind, CpuSet, Machine, Node, NodeId};
use models::interconnect::{Matrix, Unit};

use tree::Tree;

/// `kind` of distances: from a user (2), a latency (4). hwloc, include/hwloc/distances.h.
const KIND_MEASURED: u32 = 6;
/// The same from the system (1).
const KIND_FIRMWARE: u32 = 5;
/// Bits of a word of a bitmap.
const WORD_BITS: u32 = 32;
/// Objects deeper than this are not indented further.
const INDENT_MAX: usize = 12;

/// What is known of the ways between nodes.
#[derive(Debug, Clone, Copy)]
pub struct HwlocNumbers<'a> {
    /// Latencies or distances.
    pub matrix: &'a Matrix,
    /// Bandwidth in 10^6 bytes per second, in the order of the matrix, if it is known.
    pub bandwidth_mb_per_s: Option<&'a [Vec<Option<f64>>]>,
}

/// The document of a machine, and of what is known between its nodes.
pub fn hwloc_xml(machine: &Machine, numbers: Option<HwlocNumbers<'_>>) -> String {
    let mut nodes = machine.topology.nodes.clone();
    if nodes.is_empty() {
        // A kernel that tells of no nodes has all memory in one, and hwloc knows no machine without.
        nodes.push(only_node(machine));
    }
    let mut machine = machine.clone();
    machine.topology.nodes.clone_from(&nodes);
    let mut document =
        Document { text: String::new(), last_index: 0, index_of: BTreeMap::new(), nodes: &nodes };
    document.text += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n";
    let tree = Tree::of(&machine);
    document.object(&tree, 0, &machine.topology.offline, 1);
    let measured = numbers.map(|numbers| numbers.matrix);
    if measured.is_none_or(|matrix| matrix.unit.is_measured())
        && let Ok(told) = Matrix::of_machine(&machine)
    {
        document.distances(&told);
    }
    if let Some(HwlocNumbers { matrix, bandwidth_mb_per_s }) = numbers {
        document.distances(matrix);
        if matrix.unit == Unit::Nanoseconds {
            document.attribute("Latency", 6, matrix, |row, column| matrix.at(row, column));
        }
        if let Some(rows) = bandwidth_mb_per_s {
            /// hwloc counts bandwidth in 2^20 bytes per second.
            const MIB_PER_MB: f64 = 1e6 / 1_048_576.0;
            document.attribute("Bandwidth", 5, matrix, |row, column| {
                Some((*rows.get(row)?.get(column)?)? * MIB_PER_MB)
            });
        }
    }
    document.kinds(&machine);
    document.text + "</topology>\n"
}

fn only_node(machine: &Machine) -> Node {
    Node {
        id: NodeId(0),
        cpus: machine.topology.online(),
        memory_bytes: machine.environment.memory_bytes,
        free_bytes: None,
        distances: Vec::new(),
        attributes: Vec::new(),
        side_caches: Vec::new(),
    }
}

struct Document<'a> {
    text: String,
    /// The last number that was given to an object.
    last_index: u32,
    /// The numbers of the nodes' objects.
    index_of: BTreeMap<NodeId, u32>,
    nodes: &'a [Node],
}

/// A set as hwloc writes it: words of 32 bits, the highest first.
fn bitmap(members: impl IntoIterator<Item = u32>) -> String {
    let mut words: Vec<u32> = vec![0];
    for member in members {
        let word = (member / WORD_BITS) as usize;
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        words[word] |= 1 << (member % WORD_BITS);
    }
    words.iter().rev().map(|word| format!("0x{word:08x}")).collect::<Vec<_>>().join(",")
}

fn bitmap_of(cpus: &CpuSet) -> String {
    bitmap(cpus.iter().map(|cpu| cpu.0))
}

/// Sets of CPUs and nodes of an object, as attributes.
fn sets(cpus: &CpuSet, nodes: &str) -> String {
    let cpus = bitmap_of(cpus);
    format!("cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\"")
}

impl Document<'_> {
    fn next(&mut self) -> u32 {
        self.last_index += 1;
        self.last_index
    }

    /// A part with the memory on it and all that is inside it.
    fn object(&mut self, tree: &Tree, index: usize, offline: &CpuSet, depth: usize) {
        let part = &tree.parts[index];
        let indent = "  ".repeat(depth.min(INDENT_MAX));
        let gp_index = self.next();
        let is_machine = index == 0;
        let near = |node: &&Node| is_machine || !node.cpus.intersection(&part.cpus).is_empty();
        let nodes = bitmap(self.nodes.iter().filter(near).map(|node| node.id.0));
        let sets = if is_machine {
            let (cpus, all) = (bitmap_of(&part.cpus), bitmap_of(&part.cpus.union(offline)));
            format!(
                "cpuset=\"{cpus}\" complete_cpuset=\"{all}\" nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\" \
                 allowed_cpuset=\"{cpus}\" allowed_nodeset=\"{nodes}\""
            )
        } else {
            sets(&part.cpus, &nodes)
        };
        let begin = format!("{indent}<object {} {sets} gp_index=\"{gp_index}\"", part.attributes);
        let infos = part.info_lines(&format!("{indent}  "));
        if infos.is_empty() && part.inside.is_empty() && part.nodes.is_empty() {
            let _ = writeln!(self.text, "{begin}/>");
            return;
        }
        let _ = write!(self.text, "{begin}>\n{infos}");
        for place in &part.nodes {
            self.node(&self.nodes[*place], depth + 1);
        }
        for inside in &part.inside {
            self.object(tree, *inside, offline, depth + 1);
        }
        let _ = writeln!(self.text, "{indent}</object>");
    }

    /// A node's memory, behind the caches that stand before it.
    fn node(&mut self, node: &Node, depth: usize) {
        let sets = sets(&node.cpus, &bitmap([node.id.0]));
        let indent = |depth: usize| "  ".repeat(depth.min(INDENT_MAX));
        for (place, size) in node.side_caches.iter().enumerate() {
            let index = self.next();
            let _ = writeln!(
                self.text,
                "{}<object type=\"MemCache\" {sets} gp_index=\"{index}\" cache_size=\"{}\" depth=\"{}\" \
                 cache_linesize=\"0\" cache_associativity=\"0\" cache_type=\"0\">",
                indent(depth + place),
                size.0,
                place + 1
            );
        }
        let index = self.next();
        self.index_of.insert(node.id, index);
        let _ = writeln!(
            self.text,
            "{}<object type=\"NUMANode\" os_index=\"{}\" {sets} gp_index=\"{index}\" local_memory=\"{}\"/>",
            indent(depth + node.side_caches.len()),
            node.id,
            node.memory_bytes.map_or(0, |bytes| bytes.0)
        );
        for place in (0..node.side_caches.len()).rev() {
            let _ = writeln!(self.text, "{}</object>", indent(depth + place));
        }
    }

    fn distances(&mut self, matrix: &Matrix) {
        let count = matrix.count();
        // A table with a hole would be refused whole.
        if count < 2 || matrix.known().count() < count * count {
            return;
        }
        let (kind, name) = if matrix.unit.is_measured() {
            (KIND_MEASURED, "SidestepLatency")
        } else {
            (KIND_FIRMWARE, "NUMALatency")
        };
        let listed = |numbers: Vec<String>| numbers.join(" ") + " ";
        let indexes = listed(matrix.nodes.iter().map(u32::to_string).collect());
        let values = listed(matrix.known().map(|(_, _, value)| format!("{value:.0}")).collect());
        let _ = writeln!(
            self.text,
            "  <distances2 type=\"NUMANode\" nbobjs=\"{count}\" kind=\"{kind}\" name=\"{name}\" indexing=\"os\">\n    <indexes length=\"{}\">{indexes}</indexes>\n    <u64values length=\"{}\">{values}</u64values>\n  </distances2>",
            indexes.len(),
            values.len()
        );
    }

    /// What is known of each node's memory (column) from the CPUs of each node (row).
    fn attribute(
        &mut self,
        name: &str,
        flags: u32,
        matrix: &Matrix,
        value: impl Fn(usize, usize) -> Option<f64>,
    ) {
        let _ = writeln!(self.text, "  <memattr name=\"{name}\" flags=\"{flags}\">");
        let place = |number: &u32| self.nodes.iter().find(|node| node.id.0 == *number);
        let nodes: Vec<Option<&Node>> = matrix.nodes.iter().map(place).collect();
        for (column, target) in nodes.iter().enumerate() {
            let Some(index) = target.and_then(|target| self.index_of.get(&target.id)) else { continue };
            for (row, from) in nodes.iter().enumerate() {
                let from = from.filter(|from| !from.cpus.is_empty());
                if let (Some(from), Some(value)) = (from, value(row, column)) {
                    let _ = writeln!(
                        self.text,
                        "    <memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"{index}\" value=\"{value:.0}\" initiator_cpuset=\"{}\"/>",
                        bitmap_of(&from.cpus)
                    );
                }
            }
        }
        self.text += "  </memattr>\n";
    }

    /// The kinds of cores of a hybrid, the smaller first: hwloc orders them by efficiency.
    fn kinds(&mut self, machine: &Machine) {
        for (efficiency, kind) in [CoreKind::Efficiency, CoreKind::Performance].into_iter().enumerate() {
            let cpus = machine.topology.cpus.iter().filter(|cpu| cpu.core_kind == kind);
            let cpus: CpuSet = cpus.map(|cpu| cpu.id).collect();
            if !cpus.is_empty() {
                let _ = writeln!(
                    self.text,
                    "  <cpukind cpuset=\"{}\" forced_efficiency=\"{efficiency}\"/>",
                    bitmap_of(&cpus)
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, Cache, CacheKind, Core, Cpu, CpuId, Topology};
    use models::interconnect::read_matrix;

    use super::*;

    /// Two packages of two cores, each with its node; the CPUs of the second begin at 40.
    fn machine() -> Machine {
        let numbers = [0, 1, 40, 41].map(CpuId);
        let set = |list: &str| -> CpuSet { list.parse().expect("CPUs") };
        let package = |cpu: CpuId| i64::from(cpu.0 / 40);
        let cpu = |(core_index, id): (usize, CpuId)| Cpu {
            id,
            core_index,
            package: package(id),
            die: None,
            module: None,
            node: Some(NodeId(id.0 / 40)),
            core_kind: CoreKind::Uniform,
            capacity: None,
        };
        let node = |number: u32| Node {
            id: NodeId(number),
            cpus: set(&format!("{}-{}", 40 * number, 40 * number + 1)),
            memory_bytes: Some(Bytes::GIB),
            free_bytes: None,
            distances: Vec::new(),
            attributes: Vec::new(),
            side_caches: Vec::new(),
        };
        let cache = |level: u8, kind, list: &str| Cache {
            level,
            kind,
            size_bytes: Some(Bytes::MIB),
            shared_by: set(list),
            ..Cache::default()
        };
        let core =
            |cpu: CpuId| Core { os_index: Some(0), package: package(cpu), cpus: [cpu].into_iter().collect() };
        let topology = Topology {
            cpus: numbers.into_iter().enumerate().map(cpu).collect(),
            cores: numbers.into_iter().map(core).collect(),
            nodes: vec![node(0), node(1)],
            caches: vec![
                cache(1, CacheKind::Data, "0"),
                cache(1, CacheKind::Instruction, "0"),
                cache(3, CacheKind::Unified, "0-1"),
                cache(3, CacheKind::Unified, "1,40-41"),
            ],
            ..Topology::default()
        };
        Machine { topology, ..Machine::default() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let matrix = read_matrix("80,130\n131,81\n").expect("a matrix").matrix;
        let rows = [vec![Some(1000.0), None], vec![Some(500.0), Some(1001.0)]];
        let numbers = HwlocNumbers { matrix: &matrix, bandwidth_mb_per_s: Some(&rows) };
        let text = hwloc_xml(&machine(), Some(numbers));
        let read = read_matrix(&text).expect("our own").matrix;
        assert_eq!(read.known().collect::<Vec<_>>(), matrix.known().collect::<Vec<_>>());
        assert!(
            text.contains("cpuset=\"0x00000300,0x00000000\"") && text.contains("value=\"954\""),
            "{text}"
        );
        assert_eq!(text.matches("<memattr_value").count(), 4 + 3);
    }

    #[test]
    fn each_part_stands_in_the_smallest_that_holds_it_and_what_cuts_others_is_left_out() {
        let text = hwloc_xml(&machine(), None);
        let outline: Vec<String> = text
            .lines()
            .filter_map(|line| {
                let name = line.split_once("type=\"")?.1.split('"').next()?;
                line.trim_start()
                    .starts_with("<object")
                    .then(|| format!("{}{name}", " ".repeat(line.len() - line.trim_start().len())))
            })
            .collect();
        assert_eq!(
            outline.join("\n"),
            "  Machine\n    Package\n      NUMANode\n      L3Cache\n        L1Cache\n          L1iCache\n            Core\n              PU\n        \
             Core\n          PU\n    Package\n      NUMANode\n      Core\n        PU\n      Core\n        PU"
        );
        assert!(text.contains("name=\"SidestepLeftOut\" value=\"1 cache, cut by others\""), "{text}");
    }

    #[test]
    fn bitmaps_are_words_with_the_highest_first() {
        for (members, expected) in
            [(vec![], "0x00000000"), (vec![0, 1], "0x00000003"), (vec![32, 63], "0x80000001,0x00000000")]
        {
            assert_eq!(bitmap(members), expected);
        }
    }
}
