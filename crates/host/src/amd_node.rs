//! The functions by which AMD nodes show their configuration: PCI devices 18h to 1Fh of bus 0.

use std::collections::BTreeSet;

use crate::Root;

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
