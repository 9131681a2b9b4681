//! From which node new pages of the calling thread come.
//!
//! System calls: set_mempolicy(2), get_mempolicy(2), mbind(2); numbers: include/uapi/linux/mempolicy.h.

use std::io;
use std::ptr;

use crate::answer::done;

/// `MPOL_DEFAULT`, include/uapi/linux/mempolicy.h.
const MPOL_DEFAULT: libc::c_int = 0;
/// `MPOL_BIND`, include/uapi/linux/mempolicy.h.
const MPOL_BIND: libc::c_int = 2;
/// `MPOL_INTERLEAVE`, include/uapi/linux/mempolicy.h.
const MPOL_INTERLEAVE: libc::c_int = 3;
/// Bits of the largest node mask a kernel asks for: `MAX_NUMNODES` is at most 1024 (`CONFIG_NODES_SHIFT` 10).
const NODE_BITS_MAX: usize = 1024;
/// Words of such a mask.
const MASK_WORDS: usize = NODE_BITS_MAX / u64::BITS as usize;

/// Where new pages come from. Nodes are bits of a mask: nodes 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// From the node of the CPU that touches them first.
    Local,
    /// From these nodes only.
    Bind(u64),
    /// From these nodes in turn.
    Interleave(u64),
    /// Another policy of the kernel's, kept to be restored.
    Other {
        /// Mode with its flags.
        mode: i32,
        /// Nodes 0 to 63.
        nodes: u64,
    },
}

impl MemoryPolicy {
    fn mode_and_nodes(self) -> (libc::c_int, u64) {
        match self {
            Self::Local => (MPOL_DEFAULT, 0),
            Self::Bind(nodes) => (MPOL_BIND, nodes),
            Self::Interleave(nodes) => (MPOL_INTERLEAVE, nodes),
            Self::Other { mode, nodes } => (mode, nodes),
        }
    }
}

/// Sets the policy of the calling thread; allocates nothing.
pub(super) fn set_memory_policy(policy: &MemoryPolicy) -> io::Result<()> {
    let (mode, nodes) = policy.mode_and_nodes();
    let mut mask = [0_u64; MASK_WORDS];
    mask[0] = nodes;
    let (pointer, bits) = if nodes == 0 { (ptr::null(), 0) } else { (mask.as_ptr(), NODE_BITS_MAX) };
    // SAFETY: the mask, where given, holds as many bits as the kernel expects, and it is only read.
    done(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, pointer, bits) })
}

/// Binds memory that is mapped to a node, whoever touches it later; allocates nothing.
///
/// A policy of the thread alone holds when pages are first touched. Later the kernel's NUMA balancing moves them to the CPUs that use
/// them, unless the mapping has a policy of its own (Linux, kernel/sched/fair.c, task_numa_work: vma_policy_mof).
pub(super) fn bind_memory(memory: &mut [u8], node: u32) -> io::Result<()> {
    let mut mask = [0_u64; MASK_WORDS];
    mask[node as usize / 64] = 1 << (node % 64);
    // SAFETY: the memory is mapped and ours, the mask holds as many bits as the kernel expects, and both are only read.
    done(unsafe {
        libc::syscall(
            libc::SYS_mbind,
            memory.as_mut_ptr(),
            memory.len(),
            MPOL_BIND,
            mask.as_ptr(),
            NODE_BITS_MAX,
            0,
        )
    })
}

/// The policy of the calling thread.
///
/// # Errors
/// What the kernel said: `ENOSYS` without NUMA.
pub fn current_memory_policy() -> io::Result<MemoryPolicy> {
    let mut mode: libc::c_int = 0;
    let mut mask = [0_u64; MASK_WORDS];
    let none: *const libc::c_void = ptr::null();
    // SAFETY: `mode` and `mask` are valid for the kernel to fill, and the mask has the bits it expects.
    let status = unsafe {
        libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, mask.as_mut_ptr(), NODE_BITS_MAX, none, 0)
    };
    done(status)?;
    Ok(match mode {
        MPOL_DEFAULT => MemoryPolicy::Local,
        MPOL_BIND => MemoryPolicy::Bind(mask[0]),
        MPOL_INTERLEAVE => MemoryPolicy::Interleave(mask[0]),
        mode => MemoryPolicy::Other { mode, nodes: mask[0] },
    })
}

/// The mode of the mapping at an address.
#[cfg(test)]
pub(super) fn mode_at(memory: &mut [u8]) -> io::Result<i32> {
    /// `MPOL_F_ADDR`, include/uapi/linux/mempolicy.h.
    const MPOL_F_ADDR: libc::c_int = 2;
    let mut mode: libc::c_int = 0;
    let mut mask = [0_u64; MASK_WORDS];
    // SAFETY: `mode` and `mask` are valid for the kernel to fill, and the mask has the bits it expects.
    let status = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            mask.as_mut_ptr(),
            NODE_BITS_MAX,
            memory.as_mut_ptr(),
            MPOL_F_ADDR,
        )
    };
    done(status).map(|()| mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_was_set_is_read_back_and_taken_back() {
        let seen = std::thread::spawn(|| {
            // A kernel without NUMA, or a sandbox, has no policies.
            let before = current_memory_policy().ok()?;
            set_memory_policy(&MemoryPolicy::Interleave(1)).ok()?;
            let during = current_memory_policy().ok()?;
            set_memory_policy(&before).ok()?;
            Some((before, during, current_memory_policy().ok()?))
        });
        if let Some((before, during, after)) = seen.join().expect("the thread ends") {
            assert_eq!(during, MemoryPolicy::Interleave(1));
            assert_eq!(after, before);
        }
    }
}
