//! The loops that show what two CPUs share: each uses one resource up and little else.

use std::hint::black_box;

use host::live::{Mapping, MappingError, PageRequest};
use kernels::{
    ARRAY_GRANULE_BYTES, Arrays, Operation, Store, StreamKernel, VectorLoop, contention, front_end_loop,
    port_loop,
};
use machine::{CpuId, Topology};

machine::named! {
    /// What is shared or not.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Resource {
        /// Integer ports: independent additions.
        Integer = "integer",
        /// Vector units: multiply-adds in the widest vectors.
        Simd = "simd",
        /// Decoders: straight code larger than any micro-operation cache; x86-64 only.
        FrontEnd = "front_end",
        /// Level 1: reading three quarters of it, again and again.
        L1 = "l1",
        /// Level 2: the same.
        L2 = "l2",
        /// The way to level 3: reading what level 2 cannot hold and level 3 holds for both.
        L3 = "l3",
        /// Memory: reading a block that no cache holds.
        Memory = "memory",
    }
}

/// Size of a level 1 data cache where the machine does not tell: the smallest of x86-64 since 2003, Intel Atom's 24 KiB.
const L1_BYTES: usize = 24 << 10;
/// Size of a level 2 cache where the machine does not tell: the smallest of recent server cores (Skylake client, Zen).
const L2_BYTES: usize = 256 << 10;
/// A block read at once in the memory loop, so that a slice of it stays far below a window.
const MEMORY_PIECE_BYTES: usize = 64 << 10;

impl Resource {
    /// All resources this architecture has a loop for, in the order of a table.
    pub fn all() -> impl Iterator<Item = Self> {
        let has_loop = |resource: &Self| *resource != Self::FrontEnd || contention::front_end_available();
        Self::ALL.into_iter().filter(has_loop)
    }

    /// What distinguishes programs: one loop for each class of work.
    pub fn classes() -> impl Iterator<Item = Self> {
        Self::all().filter(|resource| !matches!(resource, Self::L1 | Self::L2 | Self::L3))
    }
}

/// What level 3 must hold beside two blocks of its loop, in blocks: programs have data there as well.
const L3_BLOCKS_MIN: usize = 4;

/// True if the machine tells of a third level with room for the loops of two CPUs.
pub(super) fn has_l3(topology: &Topology, cpu: CpuId) -> bool {
    let size = topology.data_cache(cpu, 3).and_then(|cache| cache.size_bytes);
    size.is_some_and(|bytes| bytes.0 as usize >= L3_BLOCKS_MIN * block_bytes(Resource::L3, topology, cpu, 0))
}

/// Bytes that the loop of a resource reads on one CPU; 0 for loops in registers.
///
/// Three quarters of a cache: alone the block fits, two of them in one cache do not. For level 3 it is twice level 2: what
/// slows there is the way to it, as a block that fills it would not be read once in a slice.
pub(super) fn block_bytes(resource: Resource, topology: &Topology, cpu: CpuId, memory_bytes: usize) -> usize {
    let claimed = |level: u8, fallback: usize| {
        let size = topology.data_cache(cpu, level).and_then(|cache| cache.size_bytes);
        size.map_or(fallback, |bytes| bytes.0 as usize)
    };
    let bytes = match resource {
        Resource::L1 => claimed(1, L1_BYTES) / 4 * 3,
        Resource::L2 => claimed(2, L2_BYTES) / 4 * 3,
        Resource::L3 => claimed(2, L2_BYTES) * 2,
        Resource::Memory => memory_bytes.next_multiple_of(MEMORY_PIECE_BYTES),
        Resource::Integer | Resource::Simd | Resource::FrontEnd => 0,
    };
    bytes / ARRAY_GRANULE_BYTES * ARRAY_GRANULE_BYTES
}

/// Memory of a loop, to be made on the CPU that runs it; `None` for loops in registers.
pub(super) fn memory_for(
    block_bytes: usize,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Mapping>, MappingError> {
    let mapped = || Mapping::new_while(block_bytes, PageRequest::Huge, goes_on);
    (block_bytes > 0).then(mapped).transpose()
}

/// A loop ready to run.
pub(super) enum Load<'m> {
    /// [`Resource::Integer`].
    Integer,
    /// [`Resource::Simd`].
    Simd(VectorLoop),
    /// [`Resource::FrontEnd`].
    FrontEnd,
    /// The caches and memory: pieces read one after the other, in a ring.
    Read {
        /// The widest read.
        kernel: kernels::StreamLoop,
        /// The block.
        pieces: Vec<Arrays<'m>>,
        /// The piece that comes next.
        next: usize,
    },
}

impl<'m> Load<'m> {
    /// The loop of a resource over the memory it was given.
    pub(super) fn new(resource: Resource, memory: Option<&'m mut Mapping>) -> Self {
        match (resource, memory) {
            (Resource::Simd, _) => Self::Simd(VectorLoop::widest()),
            (Resource::FrontEnd, _) => Self::FrontEnd,
            (Resource::L1 | Resource::L2 | Resource::L3 | Resource::Memory, Some(memory)) => {
                Self::read(memory)
            }
            _ => Self::Integer,
        }
    }

    fn read(memory: &'m mut Mapping) -> Self {
        let pieces = memory
            .as_mut_slice()
            .chunks_mut(MEMORY_PIECE_BYTES)
            .map(|piece| Arrays::from_block(piece, Operation::Read))
            .collect();
        let kernel = StreamKernel::widest(Operation::Read, Store::None)
            .expect("every CPU has a read kernel: scalar ones need nothing");
        Self::Read { kernel, pieces, next: 0 }
    }

    /// Runs the loop; a round is microseconds at most.
    pub(super) fn run(&mut self, rounds: u64) {
        match self {
            Self::Integer => _ = black_box(port_loop(rounds)),
            Self::Simd(vector) => _ = black_box(vector.run(rounds)),
            Self::FrontEnd => _ = black_box(front_end_loop(rounds)),
            Self::Read { kernel, pieces, next } => {
                for _ in 0..rounds {
                    black_box(kernel.run(&mut pieces[*next], 1));
                    *next = if *next + 1 == pieces.len() { 0 } else { *next + 1 };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_blocks_do_not_fit_the_cache_that_one_fits() {
        let topology = Topology::default();
        for (resource, cache) in [(Resource::L1, L1_BYTES), (Resource::L2, L2_BYTES)] {
            let block = block_bytes(resource, &topology, CpuId(0), 0);
            assert!(block < cache && 2 * block > cache, "{}", resource.name());
        }
        assert_eq!(block_bytes(Resource::Integer, &topology, CpuId(0), 1 << 20), 0);
        assert_eq!(block_bytes(Resource::Memory, &topology, CpuId(0), 1 << 20), 1 << 20);
    }

    #[test]
    fn every_loop_runs() {
        for resource in Resource::all() {
            let bytes = block_bytes(resource, &Topology::default(), CpuId(0), 1 << 20);
            let mut memory = memory_for(bytes, &|| true).expect("one MiB");
            let mut load = Load::new(resource, memory.as_mut());
            load.run(20);
        }
    }
}
