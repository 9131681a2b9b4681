//! What huge pages gain: the same random reads in base and in huge pages, window against window.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use host::live::{Mapping, PageRequest};
use kernels::{LOADS_PER_ROUND, Order};
use machine::{Bytes, CpuId};

use super::bench::{Bench, RATIO, Walker};
use super::latency::about;
use crate::memory::MemoryError;
use crate::room::largest_block;

/// Two sizes, as what a page walk costs depends on where the tables lie: the larger first, which the answer names first.
const BLOCKS: [Bytes; 2] = [Bytes(128 << 20), Bytes(32 << 20)];
/// With less time than this only the smaller is laid: fresh huge pages of a guest may take half a second.
const SHORT_OF_TIME: Duration = Duration::from_millis(1500);
/// Distance of nodes.
const STRIDE: usize = 256;
/// A window is short enough to fall between two disturbances, and holds a thousand reads of memory.
const WINDOW_NS: f64 = 300_000.0;
/// Pairs of one mapping take so long: what they scatter is little beside what mappings differ by.
const SAMPLE: Duration = Duration::from_millis(100);
/// So much stays mapped at once, and what is mapped next beside it.
const KEPT: Bytes = Bytes(768 << 20);
/// The larger part of a mapping has to be in huge pages.
const LEAST_SHARE: f64 = 0.9;

/// Takes pairs of windows on fresh mappings, as many as fit.
pub(super) fn gain(bench: &mut Bench, cpu: CpuId, until: Instant) -> Result<(), MemoryError> {
    let is_short = until.saturating_duration_since(Instant::now()) < SHORT_OF_TIME;
    let asked = if is_short { &BLOCKS[1..] } else { &BLOCKS[..] };
    // Two mappings of a pair, and as much again that is kept, have the room of one block.
    let room = Bytes(largest_block(&bench.machine, Bytes(4 * BLOCKS[0].0)).0 / 4);
    let mut blocks: Vec<Bytes> = asked.iter().map(|block| room.min(*block)).collect();
    blocks.dedup();
    let kept_bytes = KEPT.0.min(2 * room.0) as usize;
    let mut kept: VecDeque<Mapping> = VecDeque::new();
    while !bench.is_over(until) {
        for block in &blocks {
            let mappings = one(bench, cpu, *block, until)?;
            if mappings.is_empty() {
                return Ok(());
            }
            // What is given back comes again with the next mapping: other memory comes while it is held.
            kept.extend(mappings);
            while kept.iter().map(Mapping::len).sum::<usize>() > kept_bytes {
                kept.pop_front();
            }
        }
    }
    Ok(())
}

/// A pair of mappings that was compared; none where there are no huge pages, or no time.
fn one(bench: &mut Bench, cpu: CpuId, block: Bytes, until: Instant) -> Result<Vec<Mapping>, MemoryError> {
    let Some(mut huge) = bench.mapping(block, PageRequest::Huge, until)? else { return Ok(Vec::new()) };
    let pages = huge.pages();
    if pages.share < LEAST_SHARE || pages.page_bytes < PageRequest::Huge.page_bytes() {
        return Ok(Vec::new());
    }
    let Some(mut base) = bench.mapping(block, PageRequest::Base, until)? else { return Ok(Vec::new()) };
    let chains = [base.as_mut_slice(), huge.as_mut_slice()]
        .map(|memory| bench.chain(memory, (STRIDE, Order::Random), until));
    let [Some(of_base), Some(of_huge)] = chains else { return Ok(Vec::new()) };
    let mut walkers = [Walker::new(&of_base, 1), Walker::new(&of_huge, 1)];
    let sampler = bench.sampler(cpu);
    let loads = (WINDOW_NS / FASTEST_READ_NS) as u64;
    for walker in &mut walkers {
        walker.warm(loads, sampler);
    }
    let rounds = (WINDOW_NS / walkers[1].window(sampler).map_or(FASTEST_READ_NS, |timed| timed.ns)) as u64;
    let rounds = rounds.div_ceil(LOADS_PER_ROUND).clamp(1, ROUNDS_MAX);
    for walker in &mut walkers {
        walker.rounds = rounds;
    }
    let sample = about("huge-pages", cpu, block, pages.page_bytes, RATIO);
    bench.take(sample, until.min(Instant::now() + SAMPLE), |bench| {
        bench.pair(|bench, which| walkers[which].window(bench.sampler(cpu)))
    });
    Ok(vec![huge, base])
}

/// No random read of such a block is faster on average.
const FASTEST_READ_NS: f64 = 20.0;
/// Rounds of a window at most: reads that fast.
const ROUNDS_MAX: u64 = (WINDOW_NS / FASTEST_READ_NS) as u64 / LOADS_PER_ROUND;
