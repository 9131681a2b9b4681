//! A chain of pointers through a block of memory, built in place: one cycle through all its nodes.
//!
//! Every `stride_bytes` of the block hold one node, a pointer to the next node of the cycle. No index array is
//! needed: memory use is the block. Sattolo's shuffle (S. Sattolo, "An algorithm to generate a random cyclic
//! permutation", 1986) works on the links themselves: each node first points to itself, then links are swapped.
//!
//! A chain that is random within groups is made of one Sattolo cycle per group. In each group the link of the first
//! node then holds the entry to the rest of the group; a last Sattolo shuffle over these links alone leads from
//! each group to another and closes one cycle through everything.

use core::fmt;
use core::marker::PhantomData;

use crate::arch;
use crate::cursor::{Cursor, Link};
use crate::random::{SplitMix64, mix};

/// Bytes of a link, a pointer; also its alignment.
pub const LINK_BYTES: usize = size_of::<Link>();

/// Alignment of a chain, and what [`Position::MixedLine`] moves nodes by: the line of every x86-64 and of most arm64. Where a line is
/// longer, all lines are still used evenly; who needs one node per line takes a stride of the machine's line.
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

/// Where inside its stride a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At the start: strides above a line use only some of the cache sets, and show the conflicts.
    Start,
    /// At the start of a varying line. Each run of `stride / 64` nodes uses every line of the stride once, so that
    /// all cache sets are used evenly. With strides of a line or less it is the start.
    MixedLine,
}

/// How to lay a chain through a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes per node, at least 16 and a multiple of 8.
    pub stride_bytes: usize,
    /// The order of the visits.
    pub order: Order,
    /// Where inside its stride each node stands.
    pub position: Position,
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

/// Why no chain can be laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainError {
    /// The block does not start on a 64-byte boundary.
    Misaligned,
    /// The stride is below 16 bytes, not a multiple of 8, or, above a line with mixed lines, not a multiple of 64.
    BadStride {
        /// The stride asked for.
        stride_bytes: usize,
    },
    /// The group is not a positive multiple of the stride.
    BadGroup {
        /// The group asked for.
        group_bytes: usize,
    },
    /// The block is shorter than one stride.
    TooShort {
        /// The length of the block.
        block_bytes: usize,
    },
    /// Laying was to end before it was done.
    BrokenOff,
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misaligned => write!(f, "block does not start on a {LINE_BYTES}-byte boundary; align it"),
            Self::BadStride { stride_bytes } => write!(
                f,
                "stride of {stride_bytes} bytes; take 16 or more in steps of 8, with mixed lines a multiple of 64"
            ),
            Self::BadGroup { group_bytes } => {
                write!(f, "group of {group_bytes} bytes; take a positive multiple of the stride")
            }
            Self::TooShort { block_bytes } => {
                write!(f, "block of {block_bytes} bytes is shorter than one stride; give at least one")
            }
            Self::BrokenOff => write!(f, "laying the chain was broken off; give it more time"),
        }
    }
}

impl core::error::Error for ChainError {}

/// Asks whether to go on, at every so manieth link.
fn look(done: usize, goes_on: &dyn Fn() -> bool) -> Result<(), ChainError> {
    if done.is_multiple_of(LINKS_PER_LOOK) && !goes_on() { Err(ChainError::BrokenOff) } else { Ok(()) }
}

impl Layout {
    fn check(&self) -> Result<(), ChainError> {
        let stride_bytes = self.stride_bytes;
        let uneven_lines = stride_bytes > LINE_BYTES && !stride_bytes.is_multiple_of(LINE_BYTES);
        if stride_bytes < 2 * LINK_BYTES
            || !stride_bytes.is_multiple_of(LINK_BYTES)
            || (self.position == Position::MixedLine && uneven_lines)
        {
            return Err(ChainError::BadStride { stride_bytes });
        }
        match self.order {
            Order::RandomWithin { group_bytes } if group_bytes == 0 || group_bytes % stride_bytes != 0 => {
                Err(ChainError::BadGroup { group_bytes })
            }
            _ => Ok(()),
        }
    }

    /// Byte offset of node `index` in the block.
    fn offset(&self, index: usize) -> usize {
        let start = index * self.stride_bytes;
        let lines = self.stride_bytes / LINE_BYTES;
        if self.position == Position::Start || lines <= 1 {
            return start;
        }
        // A line of the run for each node of the run, no line twice: an affine bijection modulo a power of two,
        // else a rotation; other in each run.
        let key = mix(self.seed ^ (index / lines) as u64);
        let multiplier = if lines.is_power_of_two() { (key >> 32) as usize | 1 } else { 1 };
        let line = ((index % lines).wrapping_mul(multiplier) % lines + key as u32 as usize) % lines;
        start + line * LINE_BYTES
    }
}

impl<'a> Chain<'a> {
    /// Lays a chain through as much of `block` as whole strides fill, and writes nothing else. The block must be
    /// 64-byte aligned. A last group that is not full is a group of its own.
    ///
    /// # Errors
    /// A layout or a block that holds no chain.
    pub fn build(block: &'a mut [u8], layout: Layout) -> Result<Self, ChainError> {
        Self::build_while(block, layout, &|| true)
    }

    /// The same, which asks every few thousand links whether to go on: a large chain takes a second, and many on a busy CPU.
    ///
    /// # Errors
    /// As `build`, and `BrokenOff`.
    pub fn build_while(
        block: &'a mut [u8],
        layout: Layout,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Self, ChainError> {
        layout.check()?;
        let base = block.as_mut_ptr();
        if !base.addr().is_multiple_of(LINE_BYTES) {
            return Err(ChainError::Misaligned);
        }
        let nodes = block.len() / layout.stride_bytes;
        if nodes == 0 {
            return Err(ChainError::TooShort { block_bytes: block.len() });
        }
        let mut chain = Self { base, nodes, layout, memory: PhantomData };
        chain.lay(goes_on)?;
        Ok(chain)
    }

    fn lay(&mut self, goes_on: &dyn Fn() -> bool) -> Result<(), ChainError> {
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
        Ok(())
    }

    /// Makes the `count` nodes from `first` on a random cycle of their own.
    fn shuffle_group(
        &mut self,
        first: usize,
        count: usize,
        random: &mut SplitMix64,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), ChainError> {
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
    ) -> Result<(), ChainError> {
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
        Ok(())
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

    /// Bytes the chain spans.
    pub const fn block_bytes(&self) -> usize {
        self.nodes * self.layout.stride_bytes
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
            mixed: bool, seed: u64,
        ) {
            let position = if mixed { Position::MixedLine } else { Position::Start };
            let words = if mixed && stride_words > 8 { stride_words / 8 * 8 } else { stride_words };
            let stride_bytes = words * 8;
            let order = match order {
                Order::RandomWithin { .. } => Order::RandomWithin { group_bytes: group_nodes * stride_bytes },
                order => order,
            };
            let layout = Layout { stride_bytes, order, position, seed };
            let mut block = block();
            let chain = Chain::build(&mut block.0[..bytes], layout).expect("a valid layout");
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
            let layout = Layout { stride_bytes: 64, order, position: Position::Start, seed };
            let mut block = block();
            let chain = Chain::build(&mut block.0[..nodes * 64], layout).expect("a valid layout");
            let groups: Vec<usize> = chain.visits().take(nodes + 1).map(|offset| offset / 64 / group_nodes).collect();
            let changes = groups.windows(2).filter(|pair| pair[0] != pair[1]).count();
            let group_count = nodes.div_ceil(group_nodes);
            prop_assert_eq!(changes, if group_count == 1 { 0 } else { group_count });
        }
    }

    #[test]
    fn mixed_lines_use_every_line_of_a_stride_equally_often() {
        for stride_bytes in [128, 192, 1024, 4096] {
            let lines = stride_bytes / LINE_BYTES;
            let layout =
                Layout { stride_bytes, order: Order::Random, position: Position::MixedLine, seed: 3 };
            for run in 0..5 {
                let nodes = run * lines..(run + 1) * lines;
                let mut used: Vec<usize> =
                    nodes.map(|n| layout.offset(n) % stride_bytes / LINE_BYTES).collect();
                used.sort_unstable();
                assert!(used.into_iter().eq(0..lines), "stride {stride_bytes}, run {run}");
            }
        }
    }

    #[test]
    fn building_writes_the_links_and_nothing_else() {
        let mut block = block();
        let layout =
            Layout { stride_bytes: 256, order: Order::Random, position: Position::MixedLine, seed: 1 };
        let nodes = Chain::build(&mut block.0, layout).expect("a valid layout").nodes();
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
            let layout = Layout { stride_bytes: 64, order: Order::Random, position: Position::Start, seed };
            let chain = Chain::build(&mut block.0, layout).expect("a valid layout");
            chain.visits().take(50).collect::<Vec<_>>()
        };
        assert_eq!(visits(5), visits(5));
        assert_ne!(visits(5), visits(6));
    }

    #[test]
    fn impossible_layouts_are_refused_with_the_reason() {
        let refusal = |skip: usize, bytes: usize, stride_bytes, order, position| {
            let layout = Layout { stride_bytes, order, position, seed: 0 };
            Chain::build(&mut block().0[skip..bytes], layout).expect_err("must be refused")
        };
        let within = Order::RandomWithin { group_bytes: 100 };
        let rows = [
            (refusal(8, 4096, 64, Order::Random, Position::Start), ChainError::Misaligned),
            (refusal(0, 32, 64, Order::Random, Position::Start), ChainError::TooShort { block_bytes: 32 }),
            (refusal(0, 4096, 8, Order::Random, Position::Start), ChainError::BadStride { stride_bytes: 8 }),
            (
                refusal(0, 4096, 20, Order::Random, Position::Start),
                ChainError::BadStride { stride_bytes: 20 },
            ),
            (
                refusal(0, 4096, 72, Order::Random, Position::MixedLine),
                ChainError::BadStride { stride_bytes: 72 },
            ),
            (refusal(0, 4096, 64, within, Position::Start), ChainError::BadGroup { group_bytes: 100 }),
        ];
        for (refused, expected) in rows {
            assert_eq!(refused, expected);
        }
    }
}
