//! Links between sockets as the machine shows them: the PCI functions of AMD nodes and their routing registers, Intel's UPI ports,
//! ACPI's tables, roots of PCI.

use std::collections::BTreeSet;

use machine::acpi::{AcpiError, AffinityDomain, LocalityMatrix, affinity_domains, locality_matrices};
use machine::{NodeId, NorthbridgeNode, PciRoot, UpiPort};

use crate::{ReadError, Root};

/// Routing rows: nodes of such a machine at most. BKDG for AMD Family 10h (31116), F0x40 to F0x5C.
const ROUTES: u32 = 8;
/// First routing row.
const ROUTE: u32 = 0x40;
/// Link type of the first link of a function; one every 20h.
const LINK_TYPE: u32 = 0x98;
const LINK_STRIDE: u32 = 0x20;
/// Links 0 to 3 are in function 0, the second halves of split links in function 4.
const LINK_FUNCTIONS: [u32; 2] = [0, 4];
const LINKS_OF_FUNCTION: u32 = 4;

/// The routing registers of each AMD node; beyond the first 64 bytes root alone may read them.
pub fn northbridge_nodes(root: &Root) -> Vec<NorthbridgeNode> {
    let of = |of: NodeFunction| {
        let word = |function: u32, offset: u32| {
            root.configuration_word(&NodeFunction { node: of.node, function }.name(), offset)
        };
        let link_type = |function: u32| {
            (0..LINKS_OF_FUNCTION).map(move |link| word(function, LINK_TYPE + LINK_STRIDE * link))
        };
        Some(NorthbridgeNode {
            node: of.node,
            node_count: (word(0, NODE_ID)? >> 4 & 7) + 1,
            routes: (0..ROUTES).map(|node| word(0, ROUTE + 4 * node)).collect(),
            link_types: LINK_FUNCTIONS.into_iter().flat_map(link_type).collect(),
        })
    };
    node_functions(root, 0).into_iter().filter_map(of).collect()
}

/// The UPI ports that the kernel tells, by die and link: Linux, Documentation/ABI/testing/sysfs-devices-mapping.
pub fn upi_ports(root: &Root) -> Vec<UpiPort> {
    const FOLDER: &str = "sys/devices";
    let number = |name: &str, start: &str| name.strip_prefix(start)?.parse::<u32>().ok();
    let mut ports = Vec::new();
    for unit in root.list(FOLDER) {
        let Some(link) = number(&unit, "uncore_upi_") else { continue };
        for file in root.list(&format!("{FOLDER}/{unit}")) {
            let Some(die) = number(&file, "die") else { continue };
            let text = root.read(&format!("{FOLDER}/{unit}/{file}")).unwrap_or_default();
            let peer = text.split_once(',');
            let peer = peer
                .and_then(|(link, die)| Some((number(link.trim(), "upi_")?, number(die.trim(), "die_")?)));
            ports.extend(peer.map(|(peer_link, peer_die)| UpiPort { die, link, peer_die, peer_link }));
        }
    }
    ports.sort_unstable();
    ports
}

/// Why a table of ACPI tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum AcpiTableError {
    /// It is not there, or may not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not what it should be.
    #[error(transparent)]
    Table(#[from] AcpiError),
}

/// Where the kernel shows the tables, to root alone.
const TABLES: &str = "sys/firmware/acpi/tables";

/// The proximity domains of SRAT.
///
/// # Errors
/// No such table, no leave to read it, or a broken one.
pub fn srat(root: &Root) -> Result<Vec<AffinityDomain>, AcpiTableError> {
    Ok(affinity_domains(&root.bytes(&format!("{TABLES}/SRAT"))?)?)
}

/// The matrices of HMAT, whole.
///
/// # Errors
/// No such table, no leave to read it, or a broken one.
pub fn hmat(root: &Root) -> Result<Vec<LocalityMatrix>, AcpiTableError> {
    Ok(locality_matrices(&root.bytes(&format!("{TABLES}/HMAT"))?)?)
}

/// The roots of PCI and the node that most of the devices directly at each say they are near to.
pub fn pci_roots(root: &Root) -> Vec<PciRoot> {
    const FOLDER: &str = "sys/devices";
    let mut roots = Vec::new();
    for name in root.list(FOLDER).into_iter().filter(|name| name.starts_with("pci")) {
        let folder = format!("{FOLDER}/{name}");
        let reported: Vec<Option<NodeId>> = root
            .list(&folder)
            .into_iter()
            .filter_map(|device| root.read(&format!("{folder}/{device}/numa_node")).ok())
            // -1 says that says "unknown".
            .map(|text| text.trim().parse().ok().map(NodeId))
            .collect();
        let often = |node: &Option<NodeId>| reported.iter().filter(|other| *other == node).count();
        let node = reported.iter().copied().flatten().max_by_key(|node| often(&Some(*node)));
        if !reported.is_empty() {
            roots.push(PciRoot { name, node, devices: reported.len() });
        }
    }
    roots
}

/// PCI device of the first node: BKDG for AMD Family 10h (31116), section 3.1.
const FIRST_DEVICE: u32 = 0x18;
/// Nodes of such a machine at most.
const NODES_MAX: u32 = 8;
/// Word of function 0 whose bits 6:4 are the number of nodes less one (NodeCnt). BKDG for AMD Athlon 64 and Opteron
/// (26094) and for AMD Family 10h (31116), F0x60.
const NODE_ID: u32 = 0x60;

/// One function of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeFunction {
    /// The node, from 0.
    pub node: u32,
    /// The PCI function.
    pub function: u32,
}

impl NodeFunction {
    /// Its name in /sys/bus/pci/devices.
    pub fn name(self) -> String {
        format!("0000:00:{:x}.{:x}", FIRST_DEVICE + self.node, self.function)
    }

    /// The function that a name in /sys/bus/pci/devices stands for, such as `0000:00:18.3`.
    pub fn of_name(name: &str) -> Option<Self> {
        let (device, function) = name.strip_prefix("0000:00:")?.split_once('.')?;
        let node = u32::from_str_radix(device, 16).ok()?.checked_sub(FIRST_DEVICE)?;
        let function = u32::from_str_radix(function, 16).ok()?;
        (node < NODES_MAX).then_some(Self { node, function })
    }
}

/// A function of each node of this machine: of those that show it, and of those that the first node counts.
///
/// A node that is counted and does not show the function has one that cannot be read, not none.
pub fn node_functions(root: &Root, function: u32) -> Vec<NodeFunction> {
    let word = |of: NodeFunction, offset: u32| root.configuration_word(&of.name(), offset);
    let names = root.list("sys/bus/pci/devices");
    let shown = names.iter().filter_map(|name| NodeFunction::of_name(name));
    let mut nodes: BTreeSet<u32> = shown
        .filter(|shown| shown.function == function && word(*shown, 0).is_some())
        .map(|shown| shown.node)
        .collect();
    let first = NodeFunction { node: 0, function: 0 };
    if let Some(node_id) = word(first, NODE_ID) {
        nodes.extend(0..=node_id >> 4 & 7);
    }
    nodes.into_iter().map(|node| NodeFunction { node, function }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_pci_lie_where_most_of_their_devices_say() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (device, node) in [
            ("pci0000:00/0000:00:00.0", "0"),
            ("pci0000:00/0000:00:01.0", "-1"),
            ("pci0000:80/0000:80:00.0", "1"),
            ("pci0000:c0/0000:c0:00.0", "-1"),
        ] {
            let path = folder.path().join("sys/devices").join(device);
            std::fs::create_dir_all(&path).expect("folders");
            std::fs::write(path.join("numa_node"), format!("{node}\n")).expect("a file");
        }
        let root = Root::open(folder.path()).expect("a recording");
        let found: Vec<_> =
            pci_roots(&root).into_iter().map(|one| (one.name, one.node.map(|node| node.0))).collect();
        let named = |name: &str, node| (name.to_owned(), node);
        assert_eq!(
            found,
            [named("pci0000:00", Some(0)), named("pci0000:80", Some(1)), named("pci0000:c0", None)]
        );
        assert!(srat(&root).is_err() && hmat(&root).is_err());
    }

    #[test]
    fn ports_are_read_and_nonsense_is_left_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join("sys/devices").join(path);
            std::fs::create_dir_all(path.parent().expect("below a folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        };
        write("uncore_upi_0/die0", "upi_1,die_1\n");
        write("uncore_upi_1/die1", "upi_0,die_0\n");
        write("uncore_upi_1/die0", "upi_x,die_0\n");
        write("uncore_upi_1/type", "12\n");
        write("uncore_imc_0/die0", "upi_0,die_0\n");
        let ports = upi_ports(&Root::open(folder.path()).expect("a recording"));
        let port = |die, link, peer_die, peer_link| UpiPort { die, link, peer_die, peer_link };
        assert_eq!(ports, [port(0, 0, 1, 1), port(1, 1, 0, 0)]);
    }

    #[test]
    fn nodes_are_those_that_are_shown_and_those_that_are_counted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, words: &[(usize, u32)]| {
            let folder = folder.path().join("sys/bus/pci/devices").join(name);
            std::fs::create_dir_all(&folder).expect("folders");
            let mut config = [0; 256];
            for &(offset, word) in words {
                config[offset..offset + 4].copy_from_slice(&u32::to_le_bytes(word));
            }
            std::fs::write(folder.join("config"), config).expect("a file");
        };
        let nodes = || -> Vec<u32> {
            let root = Root::open(folder.path()).expect("a recording");
            node_functions(&root, 3).into_iter().map(|found| found.node).collect()
        };
        write("0000:00:18.3", &[(0, 0x1103_1022)]);
        write("0000:00:19.3", &[(0, 0x1103_1022)]);
        write("0000:00:1a.3", &[(0, u32::MAX)]);
        write("0000:00:02.0", &[(0, 0x1103_1022)]);
        assert_eq!(nodes(), [0, 1]);
        write("0000:00:18.0", &[(0, 0x1100_1022), (0x60, 0x30)]);
        assert_eq!(nodes(), [0, 1, 2, 3]);
    }

    #[test]
    fn only_devices_of_nodes_have_a_node() {
        let function = |node, function| Some(NodeFunction { node, function });
        for (name, expected) in [
            ("0000:00:18.3", function(0, 3)),
            ("0000:00:1f.0", function(7, 0)),
            ("0000:00:02.0", None),
            ("0000:00:20.3", None),
            ("0000:01:18.3", None),
            ("0000:00:18", None),
            ("0000:00:zz.3", None),
        ] {
            assert_eq!(NodeFunction::of_name(name), expected, "{name}");
            assert!(expected.is_none_or(|found| found.name() == name), "{name}");
        }
    }
}
