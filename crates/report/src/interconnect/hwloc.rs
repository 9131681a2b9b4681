//! A measured matrix as hwloc's XML, version 2: nodes, processors, distances, memory attributes.
//!
//! hwloc measures nothing itself; what stands here its users see as `lstopo --distances` and `--memattrs`. Version 2 is what
//! hwloc 2.0 and all later ones read. Values there are whole numbers.

use std::fmt::Write;

use machine::{Bytes, CpuSet};
use models::interconnect::{Matrix, Unit};

/// `kind` of distances: from a user (2), a latency (4). hwloc, include/hwloc/distances.h.
const KIND_MEASURED: u32 = 6;
/// The same from the system (1).
const KIND_FIRMWARE: u32 = 5;
/// Bits of a word of a bitmap.
const WORD_BITS: u32 = 32;

/// A node of the machine, as hwloc wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct HwlocNode {
    /// Its number.
    pub node: u32,
    /// Its CPUs; none for memory alone.
    pub cpus: CpuSet,
    /// Its memory.
    pub memory_bytes: Bytes,
    /// The package that holds all its CPUs, if one does.
    pub package: Option<i64>,
}

/// The document: nodes in the order of the matrix, latencies or distances, bandwidth in 10^6 bytes per second if known.
pub fn hwloc_xml(
    nodes: &[HwlocNode],
    matrix: &Matrix,
    bandwidth_mb_per_s: Option<&[Vec<Option<f64>>]>,
) -> String {
    let mut document = Document { text: String::new(), last_index: 0, of_nodes: vec![0; nodes.len()] };
    document.text += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n";
    document.machine(nodes);
    document.distances(matrix);
    if matrix.unit == Unit::Nanoseconds {
        document.attribute("Latency", 6, nodes, |row, column| matrix.at(row, column));
    }
    if let Some(rows) = bandwidth_mb_per_s {
        /// hwloc counts bandwidth in 2^20 bytes per second.
        const MIB_PER_MB: f64 = 1e6 / 1_048_576.0;
        document.attribute("Bandwidth", 5, nodes, |row, column| {
            Some((*rows.get(row)?.get(column)?)? * MIB_PER_MB)
        });
    }
    document.text + "</topology>\n"
}

struct Document {
    text: String,
    /// The last number that was given to an object.
    last_index: u32,
    /// The numbers of the nodes.
    of_nodes: Vec<u32>,
}

/// Sets of CPUs and nodes of an object, as attributes.
fn sets(cpus: &[u32], nodes: &[u32]) -> String {
    let (cpus, nodes) = (bitmap(cpus), bitmap(nodes));
    format!("cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\"")
}

/// A set as hwloc writes it: words of 32 bits, the highest first.
fn bitmap(members: &[u32]) -> String {
    let words = members.iter().max().map_or(1, |last| last / WORD_BITS + 1);
    let word = |word: u32| {
        let bits = members.iter().filter(|member| *member / WORD_BITS == word);
        format!("0x{:08x}", bits.fold(0_u32, |bits, member| bits | 1 << (member % WORD_BITS)))
    };
    (0..words).rev().map(word).collect::<Vec<_>>().join(",")
}

fn cpus_of(node: &HwlocNode) -> Vec<u32> {
    node.cpus.iter().map(|cpu| cpu.0).collect()
}

impl Document {
    fn next(&mut self) -> u32 {
        self.last_index += 1;
        self.last_index
    }

    fn machine(&mut self, nodes: &[HwlocNode]) {
        let cpus: Vec<u32> = nodes.iter().flat_map(cpus_of).collect();
        let numbers: Vec<u32> = nodes.iter().map(|node| node.node).collect();
        let index = self.next();
        let _ = writeln!(
            self.text,
            "  <object type=\"Machine\" os_index=\"0\" {} allowed_cpuset=\"{}\" allowed_nodeset=\"{}\" gp_index=\"{index}\">",
            sets(&cpus, &numbers),
            bitmap(&cpus),
            bitmap(&numbers)
        );
        self.text += "    <info name=\"Backend\" value=\"sidestep\"/>\n";
        // Children stand in the order of their first CPU; memory alone belongs to the whole machine.
        for (place, node) in nodes.iter().enumerate().filter(|(_, node)| cpus_of(node).is_empty()) {
            self.node(place, node, &[]);
        }
        let mut with_cpus: Vec<(usize, &HwlocNode)> =
            nodes.iter().enumerate().filter(|(_, node)| !cpus_of(node).is_empty()).collect();
        with_cpus.sort_by_key(|(_, node)| cpus_of(node).first().copied());
        let mut done: Vec<usize> = Vec::new();
        for (place, node) in &with_cpus {
            if done.contains(place) {
                continue;
            }
            let beside =
                |other: &&(usize, &HwlocNode)| node.package.is_some() && other.1.package == node.package;
            let together: Vec<(usize, &HwlocNode)> = with_cpus.iter().filter(beside).copied().collect();
            done.extend(together.iter().map(|(place, _)| *place));
            match together.as_slice() {
                [] => self.group(*place, node),
                together => self.package(together),
            }
        }
        self.text += "  </object>\n";
    }

    fn package(&mut self, nodes: &[(usize, &HwlocNode)]) {
        let mut cpus: Vec<u32> = nodes.iter().flat_map(|(_, node)| cpus_of(node)).collect();
        cpus.sort_unstable();
        let numbers: Vec<u32> = nodes.iter().map(|(_, node)| node.node).collect();
        let package = nodes.first().and_then(|(_, node)| node.package).unwrap_or(0);
        let index = self.next();
        let _ = writeln!(
            self.text,
            "    <object type=\"Package\" os_index=\"{}\" {} gp_index=\"{index}\">",
            package.max(0),
            sets(&cpus, &numbers)
        );
        match nodes {
            [(place, node)] => {
                self.node(*place, node, &cpus);
                self.processors(node);
            }
            several => several.iter().for_each(|(place, node)| self.group(*place, node)),
        }
        self.text += "    </object>\n";
    }

    fn group(&mut self, place: usize, node: &HwlocNode) {
        let cpus = cpus_of(node);
        let index = self.next();
        let _ = writeln!(
            self.text,
            "      <object type=\"Group\" {} gp_index=\"{index}\" kind=\"0\" subkind=\"0\" dont_merge=\"1\">",
            sets(&cpus, &[node.node])
        );
        self.node(place, node, &cpus);
        self.processors(node);
        self.text += "      </object>\n";
    }

    fn node(&mut self, place: usize, node: &HwlocNode, cpus: &[u32]) {
        let index = self.next();
        self.of_nodes[place] = index;
        let _ = writeln!(
            self.text,
            "      <object type=\"NUMANode\" os_index=\"{}\" {} gp_index=\"{index}\" local_memory=\"{}\"/>",
            node.node,
            sets(cpus, &[node.node]),
            node.memory_bytes.0
        );
    }

    fn processors(&mut self, node: &HwlocNode) {
        for cpu in cpus_of(node) {
            let index = self.next();
            let _ = writeln!(
                self.text,
                "      <object type=\"PU\" os_index=\"{cpu}\" {} gp_index=\"{index}\"/>",
                sets(&[cpu], &[node.node])
            );
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
        nodes: &[HwlocNode],
        value: impl Fn(usize, usize) -> Option<f64>,
    ) {
        let _ = writeln!(self.text, "  <memattr name=\"{name}\" flags=\"{flags}\">");
        for target in 0..nodes.len() {
            for (row, from) in nodes.iter().enumerate().filter(|(_, from)| !cpus_of(from).is_empty()) {
                if let Some(value) = value(row, target) {
                    let _ = writeln!(
                        self.text,
                        "    <memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"{}\" value=\"{value:.0}\" initiator_cpuset=\"{}\"/>",
                        self.of_nodes[target],
                        bitmap(&cpus_of(from))
                    );
                }
            }
        }
        self.text += "  </memattr>\n";
    }
}

#[cfg(test)]
mod tests {
    use models::interconnect::read_matrix;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let matrix = read_matrix("80,130\n131,81\n").expect("a matrix").matrix;
        let node = |node: u32| HwlocNode {
            node,
            cpus: format!("{}-{}", 40 * node, 40 * node + 1).parse().expect("CPUs"),
            memory_bytes: Bytes::GIB,
            package: Some(i64::from(node)),
        };
        let rows = [vec![Some(1000.0), None], vec![Some(500.0), Some(1001.0)]];
        let text = hwloc_xml(&[node(0), node(1)], &matrix, Some(&rows));
        let read = read_matrix(&text).expect("our own").matrix;
        assert_eq!(read.known().collect::<Vec<_>>(), matrix.known().collect::<Vec<_>>());
        assert!(
            text.contains("cpuset=\"0x00000300,0x00000000\"") && text.contains("value=\"954\""),
            "{text}"
        );
        assert_eq!(text.matches("<memattr_value").count(), 4 + 3);
    }

    #[test]
    fn bitmaps_are_words_with_the_highest_first() {
        for (members, expected) in
            [(vec![], "0x00000000"), (vec![0, 1], "0x00000003"), (vec![32, 63], "0x80000001,0x00000000")]
        {
            assert_eq!(bitmap(&members), expected);
        }
    }
}
