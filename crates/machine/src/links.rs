//! What hardware says of links between sockets, before anybody makes sense of it: registers and ports.

use crate::NodeId;

/// Routing and link registers of one AMD node, families 0Fh, 10h and 15h.
///
/// Sources: BKDG for AMD Athlon 64 and Opteron (26094) and for AMD Family 10h (31116), device 18h + node, function 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NorthbridgeNode {
    /// The node.
    pub node: u32,
    /// Nodes that it counts.
    pub node_count: u32,
    /// F0x40 and on: how packets to (or broadcasts from) node 0, 1, ... leave; none where it cannot be read.
    pub routes: Vec<Option<u32>>,
    /// F0x98 and on, then F4x98 and on: the kind of link 0, 1, ...; none where it cannot be read.
    pub link_types: Vec<Option<u32>>,
}

/// One end of an Intel UPI link and what it leads to, as the kernel tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpiPort {
    /// The die.
    pub die: u32,
    /// Its link.
    pub link: u32,
    /// The die at the other end.
    pub peer_die: u32,
    /// The link there.
    pub peer_link: u32,
}

/// A root of PCI and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PciRoot {
    /// As the kernel names it: `pci0000:80`.
    pub name: String,
    /// The node that its devices are near to, if one says so.
    pub node: Option<NodeId>,
    /// Devices directly at it that were asked.
    pub devices: usize,
}
