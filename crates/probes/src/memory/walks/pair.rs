//! A spread and a packed chain on one mapping, timed in adjacent windows.

use std::hint::black_box;

use kernels::random::SplitMix64;
use kernels::{Chain, Cursor, LOADS_PER_ROUND, Layout};
use machine::{Machine, Vendor};

use crate::room::line_bytes;
use crate::sampler::{Sampler, WINDOW_NS};

/// Pages from one visited page to the next where each page has its own TLB entry: with neighbours all sets of a TLB are
/// used evenly, however it computes its index.
const DENSE_PAGES: usize = 1;
/// The same for AMD, whose cores since Zen keep up to four neighbouring pages with neighbouring frames in one entry
/// (Software Optimization Guide for AMD Family 19h, 56665, section on the TLBs). The first level is fully associative
/// there. Of 1, 3, 5 and 8 pages on a Zen 3 guest, 1, 3 and 5 see the second level end at the same count within 6 %,
/// while 8 pages crowd some of its sets and see it end a third too early.
const SPARSE_PAGES: usize = 5;

/// How far apart the nodes of a spread chain lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit stands in the name")]
pub(super) struct Spacing {
    page_bytes: usize,
    line_bytes: usize,
    /// The next line on the next page to be visited, so that all cache sets are used as evenly as by the packed chain.
    stride_bytes: usize,
}

impl Spacing {
    /// The spacing for a machine's pages and lines, and for its maker's TLBs.
    pub(super) fn of(machine: &Machine) -> Self {
        let is_sparse = matches!(machine.identity.vendor, Some(Vendor::Amd | Vendor::Hygon));
        let pages = if is_sparse { SPARSE_PAGES } else { DENSE_PAGES };
        let (page_bytes, line_bytes) = (machine.environment.base_page().0 as usize, line_bytes(machine));
        Self { page_bytes, line_bytes, stride_bytes: pages * page_bytes + line_bytes }
    }

    /// Bytes of mapping for so many pages, both chains included.
    pub(super) fn mapping_bytes(self, pages: usize) -> usize {
        let (packed, spread) = self.shares(pages);
        packed + spread
    }

    /// Bytes of the packed chain, in whole pages, and of the spread chain behind it.
    fn shares(self, pages: usize) -> (usize, usize) {
        ((pages * self.line_bytes).next_multiple_of(self.page_bytes), pages * self.stride_bytes)
    }
}

/// Pairs of windows per visit.
const PAIRS: usize = 7;
/// Rounds of all nodes before anything counts, so that everything is in the caches and TLBs it fits into.
const WARM_CYCLES: u64 = 3;

/// Windows of both chains, pair by pair.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Pairs {
    pub(super) spread_ns: Vec<f64>,
    pub(super) packed_ns: Vec<f64>,
    /// Pairs of which a window was set aside.
    pub(super) dropped: usize,
}

impl Pairs {
    /// What translation adds, pair by pair.
    pub(super) fn delta_ns(&self) -> Vec<f64> {
        self.spread_ns.iter().zip(&self.packed_ns).map(|(spread, packed)| spread - packed).collect()
    }
}

/// A chain under test: where its next window starts, and how long its windows are.
struct Walker<'c> {
    cursor: Cursor<'c>,
    rounds: u64,
}

impl<'c> Walker<'c> {
    fn new(chain: &'c Chain<'_>, sampler: &Sampler) -> Self {
        let warm = (chain.nodes() as u64 * WARM_CYCLES).div_ceil(LOADS_PER_ROUND);
        let mut cursor = chain.start();
        sampler.in_slices(warm, |rounds| cursor = cursor.walk(rounds));
        let rounds = sampler.rounds_for(WINDOW_NS, |rounds| cursor = cursor.walk(rounds));
        Self { cursor, rounds }
    }

    /// Nanoseconds per load of one window. The nodes are walked once before, unless that is longer than a window: the
    /// other chain has pushed them out.
    fn window(&mut self, sampler: &mut Sampler, nodes: usize) -> Option<f64> {
        let cycle = (nodes as u64).div_ceil(LOADS_PER_ROUND);
        self.cursor = self.cursor.walk(cycle.min(4 * self.rounds));
        let (start, rounds) = (self.cursor, self.rounds);
        let mut cursor = start;
        let ns = sampler.window(|| cursor = start.walk(rounds));
        self.cursor = black_box(cursor);
        ns.map(|ns| ns / (rounds * LOADS_PER_ROUND) as f64)
    }
}

/// Lays both chains anew and times pairs of windows; which chain is first is drawn at random in each.
pub(super) fn measure_pairs(
    sampler: &mut Sampler,
    memory: &mut [u8],
    spacing: Spacing,
    pages: usize,
    random: &mut SplitMix64,
) -> Pairs {
    let Spacing { page_bytes, line_bytes, stride_bytes } = spacing;
    let (packed_bytes, spread_bytes) = spacing.shares(pages);
    let room = memory.len().saturating_sub(packed_bytes + spread_bytes);
    let start = random.below((room / page_bytes + 1) as u64) as usize * page_bytes;
    let (packed_memory, spread_memory) = memory[start..].split_at_mut(packed_bytes);
    let spread_memory = &mut spread_memory[..spread_bytes];
    let packed_memory = &mut packed_memory[..pages * line_bytes];
    let packed_layout = Layout::random(line_bytes, random.next_u64());
    let spread_layout = Layout::random(stride_bytes, random.next_u64());
    let goes_on = || !sampler.is_cut();
    let built = [(spread_memory, spread_layout), (packed_memory, packed_layout)]
        .map(|(memory, layout)| Chain::build_while(memory, layout, &goes_on));
    let [Some(spread), Some(packed)] = built else {
        return Pairs::default();
    };
    let mut walkers = [Walker::new(&spread, sampler), Walker::new(&packed, sampler)];
    let mut found = Pairs::default();
    for _ in 0..PAIRS {
        if sampler.is_cut() {
            break;
        }
        let first = (random.next_u64() >> 63) as usize;
        let mut ns = [None; 2];
        for which in [first, 1 - first] {
            ns[which] = walkers[which].window(sampler, pages);
        }
        match ns {
            [Some(spread), Some(packed)] => {
                found.spread_ns.push(spread);
                found.packed_ns.push(packed);
            }
            _ => found.dropped += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(vendor: Option<Vendor>, page_bytes: u64) -> Machine {
        let mut machine = Machine::default();
        machine.identity.vendor = vendor;
        machine.environment.page_bytes = Some(machine::Bytes(page_bytes));
        machine
    }

    #[test]
    fn every_node_of_a_spread_chain_is_on_a_page_of_its_own_and_lines_are_used_evenly() {
        for (vendor, page_bytes) in [(Vendor::Amd, 4096), (Vendor::Intel, 4096), (Vendor::Intel, 16_384)] {
            let (pages, spacing) = (256, Spacing::of(&machine(Some(vendor.clone()), page_bytes)));
            let Spacing { page_bytes, line_bytes, stride_bytes } = spacing;
            let mut memory = vec![0_u8; pages * stride_bytes + line_bytes];
            let start = memory.as_ptr().align_offset(line_bytes);
            let chain = Chain::build_while(&mut memory[start..], Layout::random(stride_bytes, 1), &|| true)
                .expect("there is time");
            let visits: Vec<usize> = chain.visits().take(pages).collect();
            let distinct = |of: &dyn Fn(usize) -> usize| {
                visits.iter().map(|&offset| of(offset)).collect::<std::collections::BTreeSet<_>>().len()
            };
            assert_eq!(distinct(&|offset| offset / page_bytes), pages);
            assert_eq!(
                distinct(&|offset| offset % page_bytes / line_bytes),
                pages.min(page_bytes / line_bytes)
            );
            // The sets of a second-level TLB with 128 sets, by low bits: two pages each, give or take one.
            let sets = distinct(&|offset| offset / page_bytes % 128);
            assert!(sets > 60, "{vendor}: {sets}");
        }
    }

    #[test]
    fn entries_that_cover_four_pages_do_not_cover_two_nodes() {
        assert!(Spacing::of(&machine(Some(Vendor::Amd), 4096)).stride_bytes > 4 * 4096);
        assert_eq!(Spacing::of(&machine(None, 4096)).mapping_bytes(64), 4096 + 64 * (4096 + 64));
    }

    #[test]
    fn a_difference_is_taken_pair_by_pair() {
        let pairs = Pairs { spread_ns: vec![5.0, 7.0], packed_ns: vec![4.0, 5.0], dropped: 0 };
        assert_eq!(pairs.delta_ns(), [1.0, 2.0]);
    }
}
