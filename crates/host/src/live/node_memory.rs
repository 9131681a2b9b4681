//! Memory from one NUMA node, and where pages really are.
//!
//! System call: move_pages(2) without a list of nodes only asks; statuses below zero are errors of one page.

use std::collections::BTreeMap;
use std::io;
use std::ptr;

use machine::{Bytes, NodeId};

use super::memory_policy::{MemoryPolicy, bind_memory, current_memory_policy, set_memory_policy};
use super::{Mapping, MappingError, PageRequest, page_bytes};
use crate::Root;
use crate::answer::number;
use crate::describe::source::meminfo_bytes;

/// Pages asked about, evenly spread: enough to see a share of a thousandth.
const PAGES_ASKED: usize = 1_024;
/// A node keeps at least as much as is taken from it: the kernel ends programs whose memory is bound to a node that has none left, and
/// not only ours.
const ROOM: u64 = 2;
/// Of a node's memory in its `meminfo`, what is free or at once to be had: pages of files and caches of the kernel.
const TO_BE_HAD: [&str; 4] = ["MemFree", "Active(file)", "Inactive(file)", "SReclaimable"];
/// The largest node that a policy of ours can name.
const NODE_MAX: u32 = 63;

/// Why there is no memory of a node.
#[derive(Debug, thiserror::Error)]
pub enum NodeMemoryError {
    /// A node that no mask of ours holds.
    #[error("node {0} is beyond node {NODE_MAX}, the last that can be named here")]
    Beyond(NodeId),
    /// A cpuset, a container or a kernel without NUMA forbids it.
    #[error(
        "memory of node {node} may not be had: {source}; a cpuset (cpuset.mems) or container may forbid it"
    )]
    Forbidden {
        node: NodeId,
        /// What the kernel said.
        source: io::Error,
    },
    /// It has too little left.
    #[error(
        "node {node} has {left} to be had, too little for {asked} that are bound to it; free memory there"
    )]
    Full {
        node: NodeId,
        /// What is free or at once to be had.
        left: Bytes,
        /// What was asked for.
        asked: Bytes,
    },
    /// There is none.
    #[error(transparent)]
    Mapping(#[from] MappingError),
}

/// Puts the policy of the thread back.
struct PolicyGuard(MemoryPolicy);

impl Drop for PolicyGuard {
    fn drop(&mut self) {
        // A policy that was in force is allowed.
        drop(set_memory_policy(&self.0));
    }
}

/// Maps and touches memory that comes from one node, and stays there; the policy of the calling thread is put back.
///
/// # Errors
/// A node that may not be used, or too little memory.
pub fn map_on_node(
    bytes: usize,
    request: PageRequest,
    node: NodeId,
    goes_on: &dyn Fn() -> bool,
) -> Result<Mapping, NodeMemoryError> {
    if node.0 > NODE_MAX {
        return Err(NodeMemoryError::Beyond(node));
    }
    ensure_room_on_node(Bytes(bytes as u64), node)?;
    let forbidden = |source| NodeMemoryError::Forbidden { node, source };
    let before = current_memory_policy().map_err(forbidden)?;
    set_memory_policy(&MemoryPolicy::Bind(1 << node.0)).map_err(forbidden)?;
    let _guard = PolicyGuard(before);
    let mut mapping = Mapping::new_while(bytes, request, goes_on)?;
    bind_memory(mapping.as_mut_slice(), node.0).map_err(forbidden)?;
    Ok(mapping)
}

/// Checks that a node has room for so much that is to be bound to it, by several threads perhaps.
///
/// # Errors
/// `Full`; a kernel that does not tell what is left is believed to have it.
pub fn ensure_room_on_node(asked: Bytes, node: NodeId) -> Result<(), NodeMemoryError> {
    match left_on(node) {
        Some(left) if left.0 / ROOM < asked.0 => Err(NodeMemoryError::Full { node, left, asked }),
        _ => Ok(()),
    }
}

/// Memory of a node that is free or at once to be had; `None` where the kernel does not tell.
fn left_on(node: NodeId) -> Option<Bytes> {
    to_be_had(&Root::live().read(&format!("/sys/devices/system/node/node{}/meminfo", node.0)).ok()?)
}

/// From lines such as `Node 0 MemFree: 1234 kB`; `None` if it does not say what is free.
fn to_be_had(meminfo: &str) -> Option<Bytes> {
    let amount = |name: &str| meminfo_bytes(meminfo, name).map(|bytes| bytes.0);
    amount(TO_BE_HAD[0])?;
    Some(Bytes(TO_BE_HAD.into_iter().filter_map(amount).fold(0, u64::saturating_add)))
}

/// How many pages of a sample lie on each node; pages that the kernel will not tell of are left out.
///
/// # Errors
/// What the kernel said: `ENOSYS` without NUMA, `EPERM` in a sandbox.
pub fn page_nodes(mapping: &mut Mapping) -> io::Result<BTreeMap<NodeId, usize>> {
    // A huge page answers for each of its parts.
    let page_bytes = page_bytes();
    let slice = mapping.as_mut_slice();
    let count = (slice.len() / page_bytes).clamp(1, PAGES_ASKED);
    let step = slice.len() / count / page_bytes * page_bytes;
    let mut pages: Vec<*mut libc::c_void> =
        (0..count).map(|index| slice[index * step..].as_mut_ptr().cast()).collect();
    let mut status = vec![0_i32; count];
    let ask: *const libc::c_int = ptr::null();
    // SAFETY: both lists have `count` entries, the addresses lie in a live mapping, and without nodes nothing moves.
    number(unsafe {
        libc::syscall(libc::SYS_move_pages, 0, count, pages.as_mut_ptr(), ask, status.as_mut_ptr(), 0)
    })?;
    let mut nodes = BTreeMap::new();
    for node in status.into_iter().filter_map(|node| u32::try_from(node).ok()) {
        *nodes.entry(NodeId(node)).or_insert(0) += 1;
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::super::memory_policy::mode_at;
    use super::*;

    /// `MPOL_BIND`, include/uapi/linux/mempolicy.h: what NUMA balancing leaves alone.
    const BOUND: i32 = 2;

    #[test]
    fn memory_of_a_node_lies_there_and_the_policy_is_put_back() {
        std::thread::spawn(|| {
            let Ok(before) = current_memory_policy() else { return };
            // A sandbox may refuse both calls; a machine with NUMA may lack node 0.
            let Ok(mut mapping) = map_on_node(8 << 20, PageRequest::Base, NodeId(0), &|| true) else {
                return;
            };
            assert_eq!(current_memory_policy().expect("it was readable before"), before);
            assert_eq!(mode_at(mapping.as_mut_slice()).expect("it was readable before"), BOUND);
            let Ok(nodes) = page_nodes(&mut mapping) else { return };
            assert!(nodes.keys().all(|&node| node == NodeId(0)) && !nodes.is_empty(), "{nodes:?}");
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn what_a_node_has_left_is_free_memory_and_what_files_hold() {
        let text = "Node 3 MemTotal:         261632 kB\nNode 3 MemFree:            1000 kB\nNode 3 Active(file):        20 kB\n\
                    Node 3 Inactive(file):       3 kB\nNode 3 SReclaimable:         1 kB\nNode 3 Dirty: 7 kB\n";
        assert_eq!(to_be_had(text), Some(Bytes(1024 * 1024)));
        assert_eq!(to_be_had("Node 3 MemTotal: 5 kB\nNode 3 MemFree: many kB\n"), None);
        assert_eq!(to_be_had(&format!("MemFree: {} kB", u64::MAX)), None);
        let refused = map_on_node(1 << 46, PageRequest::Base, NodeId(0), &|| true);
        assert!(refused.is_err(), "no node of a test has 128 TiB");
    }

    #[test]
    fn nodes_that_cannot_be_are_refused() {
        assert!(matches!(
            map_on_node(4096, PageRequest::Base, NodeId(64), &|| true),
            Err(NodeMemoryError::Beyond(NodeId(64)))
        ));
        let absent = map_on_node(4096, PageRequest::Base, NodeId(62), &|| true);
        assert!(absent.is_err(), "no machine of a test has 63 nodes");
    }
}
