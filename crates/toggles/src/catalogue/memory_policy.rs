//! From which node a process takes its memory.

use host::live::{MemoryPolicy, ProcessSetting, current_memory_policy, node_mask};
use machine::NodeId;

use crate::process_toggle::{Choice, ProcessToggle};
use crate::{About, Availability, SystemState};

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "memory-policy",
        title: "Where a process takes memory from",
        does: "New pages come from the node that touches them first, from all nodes in turn, or from one node only. On machines \
               with several nodes it decides between local latency and the bandwidth of all.",
        needs: &["two NUMA nodes with memory"],
        source: "set_mempolicy(2)",
        ..About::PROCESS
    },
    available: |system| {
        if system.machine.topology.nodes.is_empty() {
            let reason = "no NUMA nodes were read: /sys/devices/system/node is not there";
            return Availability::missing(reason, "");
        }
        if nodes(system).len() < 2 {
            let reason = "fewer than two NUMA nodes are known to have memory";
            return Availability::missing(reason, "use a machine with more");
        }
        match current_memory_policy() {
            Ok(_) => Availability::Available,
            Err(error) => Availability::missing(format!("the kernel has no memory policies ({error})"), ""),
        }
    },
    now: |_| match current_memory_policy() {
        Ok(MemoryPolicy::Local) => Some("local"),
        Ok(MemoryPolicy::Interleave(_)) => Some("interleave"),
        Ok(MemoryPolicy::Bind(_)) => Some("bind"),
        _ => None,
    },
    choices: &[
        Choice::named("local")
            .means("the node that touches a page first")
            .asks(|_| ProcessSetting::Memory(MemoryPolicy::Local)),
        Choice::named("bind")
            .means("the first node only")
            .asks(|system| ProcessSetting::Memory(MemoryPolicy::Bind(node_mask(&nodes(system)[..1])))),
        Choice::named("interleave")
            .means("all nodes in turn")
            .asks(|system| ProcessSetting::Memory(MemoryPolicy::Interleave(node_mask(&nodes(system))))),
    ],
};

/// The nodes with memory.
fn nodes(system: &SystemState) -> Vec<NodeId> {
    let nodes = system.machine.topology.nodes.iter();
    nodes.filter(|node| node.memory_bytes.is_some_and(|bytes| bytes.0 > 0)).map(|node| node.id).collect()
}
