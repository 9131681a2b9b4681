//! The functions by which AMD nodes show their configuration: PCI devices 18h to 1Fh of bus 0.

/// PCI device of the first node: BKDG for AMD Family 10h (31116), section 3.1.
const FIRST_DEVICE: u32 = 0x18;
/// Nodes of such a machine at most.
const NODES_MAX: u32 = 8;

/// One function of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeFunction {
    /// The node, from 0.
    pub node: u32,
    /// The PCI function.
    pub function: u32,
}

impl NodeFunction {
    /// The function that a name in /sys/bus/pci/devices stands for, such as `0000:00:18.3`.
    pub fn of_name(name: &str) -> Option<Self> {
        let (device, function) = name.strip_prefix("0000:00:")?.split_once('.')?;
        let node = u32::from_str_radix(device, 16).ok()?.checked_sub(FIRST_DEVICE)?;
        let function = u32::from_str_radix(function, 16).ok()?;
        (node < NODES_MAX).then_some(Self { node, function })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        }
    }
}
