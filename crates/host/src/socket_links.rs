//! Links between sockets as the machine tells them: AMD's routing registers, Intel's UPI ports, ACPI's tables, roots of PCI.

use machine::acpi::{AcpiError, AffinityDomain, LocalityMatrix, affinity_domains, locality_matrices};
use machine::{NodeId, NorthbridgeNode, PciRoot, UpiPort};

use crate::{NodeFunction, ReadError, Root, node_functions};

/// Routing rows: nodes of such a machine at most. BKDG for AMD Family 10h (31116), F0x40 to F0x5C.
const ROUTES: u32 = 8;
/// First routing row.
const ROUTE: u32 = 0x40;
/// Word whose bits 6:4 are the number of nodes less one.
const NODE_ID: u32 = 0x60;
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
        let told: Vec<Option<NodeId>> = root
            .list(&folder)
            .into_iter()
            .filter_map(|device| root.read(&format!("{folder}/{device}/numa_node")).ok())
            // -1 says that nobody knows.
            .map(|text| text.trim().parse().ok().map(NodeId))
            .collect();
        let often = |node: &Option<NodeId>| told.iter().filter(|other| *other == node).count();
        let node = told.iter().copied().flatten().max_by_key(|node| often(&Some(*node)));
        if !told.is_empty() {
            roots.push(PciRoot { name, node, devices: told.len() });
        }
    }
    roots
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
}
