//! A chain of pointers through a block of memory, built in place: one cycle through all its nodes.
//!
//! Every `stride_bytes` of the block hold one node, a pointer to the next node of the cycle. No index array is
//! needed: memory use is the block. Sattolo's shuffle (S. Sattolo, "An algorithm to generate a random cyclic
//! permutation", 1986) works on the links themselves: each node first points to itself, then links are swapped.
//!
//! A chain that is random within groups is made of one Sattolo cycle per group. In each group the link of the first
//! node then holds the entry to the rest of the group; a last Sattolo shuffle over these links alone leads from
//! each group to another and closes one cycle through everything.

use core::marker::PhantomData;

use crate::arch;
use crate::cursor::{Cursor, Link};
use crate::random::SplitMix64;

/// Bytes of a link, a pointer; also its alignment.
pub const LINK_BYTES: usize = size_of::<Link>();

/// Alignment of a chain: the line of every x86-64 and of most arm64. Who needs one node per line takes a stride of the machine's line.
pub const LINE_BYTES: usize = 64;

/// Random choices made ahead of the swaps: enough to keep the 10 to 24 line-fill buffers of a core busy.
const CHOICES_AHEAD: usize = 32;

/// Links laid between two questions whether to go on: a fraction of a millisecond to a few.
const LINKS_PER_LOOK: usize = 1 << 14;

/// In which order the nodes are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By rising address; a hardware prefetcher follows it.
    Sequential,
    /// A random cycle through all nodes.
    Random,
    /// Random inside groups of `group_bytes` consecutive bytes, the groups in random order: with groups of a few
    /// pages nearly all accesses hit the TLB.
    RandomWithin {
        /// Bytes of a group, a multiple of the stride.
        group_bytes: usize,
    },
}

/// How to lay a chain through a block: a node at the start of each stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes per node, at least 16 and a multiple of 8.
    pub stride_bytes: usize,
    /// The order of the visits.
    pub order: Order,
    /// Fixes every random choice.
    pub seed: u64,
}

/// A chain of pointers in borrowed memory: one cycle.
#[derive(Debug)]
pub struct Chain<'a> {
    /// Start of the block; all nodes lie in its `nodes * layout.stride_bytes` bytes, borrowed for `'a`.
    base: *mut u8,
    nodes: usize,
    layout: Layout,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: the pointer stands for an exclusive borrow of plain bytes, which may move between threads.
unsafe impl Send for Chain<'_> {}
// SAFETY: shared access only reads.
unsafe impl Sync for Chain<'_> {}

/// Asks whether to go on, at every so manieth link.
fn look(done: usize, goes_on: &dyn Fn() -> bool) -> Option<()> {
    (!done.is_multiple_of(LINKS_PER_LOOK) || goes_on()).then_some(())
}

impl Layout {
    /// A random cycle through all nodes.
    pub const fn random(stride_bytes: usize, seed: u64) -> Self {
        Self { stride_bytes, order: Order::Random, seed }
    }

    /// Byte offset of node `index` in the block.
    const fn offset(&self, index: usize) -> usize {
        index * self.stride_bytes
    }
}

impl<'a> Chain<'a> {
    /// Lays a chain through as much of `block` as whole strides fill, and writes nothing else. A last group that is not full is a
    /// group of its own. It asks every few thousand links whether to go on, as a large chain takes a second, and many on a busy CPU;
    /// `None` if it was to end before it was done.
    ///
    /// # Panics
    /// If the block is not 64-byte aligned or shorter than a stride, the stride below 16 bytes or not a multiple of 8, or the group not
    /// a positive multiple of the stride.
    pub fn build_while(block: &'a mut [u8], layout: Layout, goes_on: &dyn Fn() -> bool) -> Option<Self> {
        let stride_bytes = layout.stride_bytes;
        let is_stride = stride_bytes >= 2 * LINK_BYTES && stride_bytes.is_multiple_of(LINK_BYTES);
        assert!(is_stride, "a stride of {stride_bytes} bytes");
        if let Order::RandomWithin { group_bytes } = layout.order {
            let is_group = group_bytes > 0 && group_bytes.is_multiple_of(stride_bytes);
            assert!(is_group, "a group of {group_bytes} bytes");
        }
        let base = block.as_mut_ptr();
        assert!(base.addr().is_multiple_of(LINE_BYTES), "a block that does not start on a line");
        let nodes = block.len() / stride_bytes;
        assert!(nodes > 0, "a block of {} bytes", block.len());
        let mut chain = Self { base, nodes, layout, memory: PhantomData };
        chain.lay(goes_on)?;
        Some(chain)
    }

    fn lay(&mut self, goes_on: &dyn Fn() -> bool) -> Option<()> {
        let mut random = SplitMix64::new(self.layout.seed);
        match self.layout.order {
            Order::Sequential => {
                for index in 0..self.nodes {
                    look(index, goes_on)?;
                    let next = if index + 1 == self.nodes { 0 } else { index + 1 };
                    self.set_link(index, Link(self.node(next)));
                }
            }
            Order::Random => self.shuffle_group(0, self.nodes, &mut random, goes_on)?,
            Order::RandomWithin { group_bytes } => {
                let per_group = group_bytes / self.layout.stride_bytes;
                for first in (0..self.nodes).step_by(per_group) {
                    self.shuffle_group(first, per_group.min(self.nodes - first), &mut random, goes_on)?;
                }
                self.sattolo(
                    self.nodes.div_ceil(per_group),
                    &mut random,
                    |group| group * per_group,
                    goes_on,
                )?;
            }
        }
        Some(())
    }

    /// Makes the `count` nodes from `first` on a random cycle of their own.
    fn shuffle_group(
        &mut self,
        first: usize,
        count: usize,
        random: &mut SplitMix64,
        goes_on: &dyn Fn() -> bool,
    ) -> Option<()> {
        for index in first..first + count {
            look(index, goes_on)?;
            self.set_link(index, Link(self.node(index)));
        }
        self.sattolo(count, random, |index| first + index, goes_on)
    }

    /// Swaps the links of the nodes `place(0)`, ..., `place(count - 1)` by Sattolo's shuffle.
    ///
    /// The choices do not depend on the links, so that they are made a batch ahead and their lines fetched meanwhile.
    fn sattolo(
        &mut self,
        count: usize,
        random: &mut SplitMix64,
        place: impl Fn(usize) -> usize,
        goes_on: &dyn Fn() -> bool,
    ) -> Option<()> {
        let mut last = count.saturating_sub(1);
        while last > 0 {
            look((count - 1 - last) / CHOICES_AHEAD * CHOICES_AHEAD, goes_on)?;
            let mut chosen = [0; CHOICES_AHEAD];
            let batch = CHOICES_AHEAD.min(last);
            for (step, chosen) in chosen[..batch].iter_mut().enumerate() {
                *chosen = place(random.below((last - step) as u64) as usize);
                arch::prefetch(self.node(*chosen));
            }
            for (step, &there) in chosen[..batch].iter().enumerate() {
                let here = place(last - step);
                let (link_here, link_there) = (self.link(here), self.link(there));
                self.set_link(here, link_there);
                self.set_link(there, link_here);
            }
            last -= batch;
        }
        Some(())
    }

    /// Address of node `index`, which is below `nodes`.
    fn node(&self, index: usize) -> *mut Link {
        self.base.wrapping_add(self.layout.offset(index)).cast()
    }

    fn link(&self, index: usize) -> Link {
        debug_assert!(index < self.nodes);
        // SAFETY: the node lies in the borrowed block and is aligned to 8 bytes, as base and offset are.
        unsafe { self.node(index).read() }
    }

    fn set_link(&mut self, index: usize, link: Link) {
        debug_assert!(index < self.nodes);
        // SAFETY: as in `link`; `&mut self` makes the access exclusive.
        unsafe { self.node(index).write(link) }
    }

    /// Number of nodes, one per stride.
    pub const fn nodes(&self) -> usize {
        self.nodes
    }

    /// How it was laid.
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// A cursor on the first node.
    pub fn start(&self) -> Cursor<'_> {
        self.cursor(0)
    }

    /// A cursor on node `index` by address, modulo the number of nodes.
    pub fn cursor(&self, index: usize) -> Cursor<'_> {
        // SAFETY: every link of a laid chain points to a node of the block, borrowed as long as `self`.
        unsafe { Cursor::new(self.node(index % self.nodes)) }
    }

    /// Where in the block a cursor of this chain stands, in bytes.
    pub fn offset_of(&self, cursor: Cursor<'_>) -> usize {
        cursor.addr().wrapping_sub(self.base.addr())
    }

    /// Byte offsets of the nodes in the order of their visits, from the first node, without end.
    pub fn visits(&self) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(Some(self.start()), |cursor| Some(cursor.next()))
            .map(move |at| self.offset_of(at))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK_BYTES: usize = 1 << 14;

    #[repr(align(64))]
    struct Block([u8; BLOCK_BYTES]);

    fn block() -> Box<Block> {
        Box::new(Block([0xa5; BLOCK_BYTES]))
    }

    fn laid(block: &mut [u8], layout: Layout) -> Chain<'_> {
        Chain::build_while(block, layout, &|| true).expect("there is time")
    }

    fn any_order() -> impl Strategy<Value = (Order, usize)> {
        let groups = 1usize..40;
        prop_oneof![
            Just((Order::Sequential, 1)),
            Just((Order::Random, 1)),
            groups.prop_map(|nodes| { (Order::RandomWithin { group_bytes: nodes }, nodes) })
        ]
    }

    /// The naive twin of an order: the set of offsets that a cycle must visit.
    fn expected_offsets(layout: &Layout, nodes: usize) -> Vec<usize> {
        (0..nodes).map(|index| layout.offset(index)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_chain_is_one_cycle_through_one_node_per_stride(
            stride_words in 2usize..200, bytes in 1600usize..BLOCK_BYTES, (order, group_nodes) in any_order(),
            seed: u64,
        ) {
            let stride_bytes = stride_words * 8;
            let order = match order {
                Order::RandomWithin { .. } => Order::RandomWithin { group_bytes: group_nodes * stride_bytes },
                order => order,
            };
            let layout = Layout { stride_bytes, order, seed };
            let mut block = block();
            let chain = laid(&mut block.0[..bytes], layout);
            prop_assert_eq!(chain.nodes(), bytes / stride_bytes);
            let back = chain.visits().skip(1).take(chain.nodes()).position(|offset| offset == layout.offset(0));
            prop_assert_eq!(back, Some(chain.nodes() - 1));
            let mut visited: Vec<usize> = chain.visits().take(chain.nodes()).collect();
            visited.sort_unstable();
            prop_assert_eq!(&visited, &expected_offsets(&layout, chain.nodes()));
            prop_assert!(visited.iter().enumerate().all(|(index, offset)| offset / stride_bytes == index));
        }

        #[test]
        fn a_confined_chain_leaves_each_group_once(group_nodes in 1usize..30, nodes in 2usize..256, seed: u64) {
            let order = Order::RandomWithin { group_bytes: group_nodes * 64 };
            let layout = Layout { stride_bytes: 64, order, seed };
            let mut block = block();
            let chain = laid(&mut block.0[..nodes * 64], layout);
            let groups: Vec<usize> = chain.visits().take(nodes + 1).map(|offset| offset / 64 / group_nodes).collect();
            let changes = groups.windows(2).filter(|pair| pair[0] != pair[1]).count();
            let group_count = nodes.div_ceil(group_nodes);
            prop_assert_eq!(changes, if group_count == 1 { 0 } else { group_count });
        }
    }

    #[test]
    fn building_writes_the_links_and_nothing_else() {
        let mut block = block();
        let layout = Layout::random(256, 1);
        let nodes = laid(&mut block.0, layout).nodes();
        let is_link = |offset: usize| offset - layout.offset(offset / 256) < LINK_BYTES;
        let untouched =
            (0..BLOCK_BYTES).filter(|&offset| offset < layout.offset(offset / 256) || !is_link(offset));
        assert_eq!(nodes, BLOCK_BYTES / 256);
        assert!(untouched.into_iter().all(|offset| block.0[offset] == 0xa5));
    }

    #[test]
    fn the_order_depends_on_the_seed_alone() {
        let visits = |seed| {
            let mut block = block();
            let layout = Layout::random(64, seed);
            let chain = laid(&mut block.0, layout);
            chain.visits().take(50).collect::<Vec<_>>()
        };
        assert_eq!(visits(5), visits(5));
        assert_ne!(visits(5), visits(6));
    }
}
