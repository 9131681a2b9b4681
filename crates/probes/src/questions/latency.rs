//! Latency of the first two caches in cycles of the core, and of memory, whatever its largest cache claims.

use std::time::{Duration, Instant};

use host::live::PageRequest;
use kernels::Order;
use machine::{Bytes, CpuId, Machine};
use record::QuestionSample;

use super::bench::{Bench, Walker};
use crate::memory::MemoryError;
use crate::room::{largest_block, line_bytes};

/// The block in L1 where the machine claims none: half of the smallest of today.
const SMALLEST_L1: Bytes = Bytes(32 << 10);
/// Pages that hold a block of a cache.
const CACHE_MAPPING: Bytes = Bytes(2 << 20);
/// Windows of one mapping of a cache take so long.
const CACHE_SAMPLE: Duration = Duration::from_millis(40);
/// Rounds of a window in a cache: 10,000 loads, some 20 us in L1.
const CACHE_ROUNDS: u64 = 156;
/// Fewest mappings for each cache.
const CACHE_SAMPLES_MIN: usize = 3;
/// And the most: 40 agree to four digits on an idle core.
const CACHE_SAMPLES_MAX: usize = 8;

/// The block of random reads: more than any cache of today serves alone.
const MEMORY_BLOCK: Bytes = Bytes(1 << 30);
/// Distance of its nodes, as an adjacent line that is fetched along is none of them, and their order.
const READS_OF_MEMORY: (usize, Order) = (256, Order::Random);
/// Parts are read group by group: a first-level TLB holds the pages of a group whatever their size, so that a cache is what ends. A guest's
/// huge pages may be small ones of its host.
const GROUP_BYTES: usize = 256 << 10;
/// Rounds of a window: a thousand loads, 0.1 to 0.3 ms.
const MEMORY_ROUNDS: u64 = 16;
/// So much time is enough to map it, lay it and read it, also where a guest has never touched that memory, which then comes fifteen times
/// slower than other; half of the time is for half of the block.
const TIME_OF_BLOCK: Duration = Duration::from_secs(3);
/// A block that could not be mapped in this share of the time is too large.
const LAYING_SHARE: f64 = 0.65;
const SMALLEST_BLOCK: Bytes = Bytes(32 << 20);
/// Windows of the whole block take this share of the time, and those of each part of it.
const SAMPLE_SHARE: f64 = 0.12;
const PART_SHARE: f64 = 0.02;
/// Parts go up by octaves, each line of them a node, from what L2 of some cores holds: small ones are soon laid.
const LARGEST_PART: Bytes = Bytes(128 << 20);
/// And to here with less time than this: laying the larger ones would take it.
const LARGEST_PART_IN_SHORT: Bytes = Bytes(64 << 20);
const SHORT_OF_TIME: Duration = Duration::from_millis(1500);
const SMALLEST_PART: Bytes = Bytes(1 << 20);
/// Samples of parts are called so.
const PARTS: &str = "blocks";
/// Reads before the first window between two looks at the clock, and all of them where the block is beyond every cache.
const WARM_PIECE: u64 = 1 << 14;

/// Blocks that L1 and L2 hold by their claims, each out of reach of the level below: half of the first, and the middle between the two.
fn cache_blocks(machine: &Machine, cpu: CpuId) -> Vec<(&'static str, Bytes)> {
    let claimed = |level: u8| machine.topology.data_cache(cpu, level).and_then(|cache| cache.size_bytes);
    let first = claimed(1).unwrap_or(SMALLEST_L1);
    let mut blocks = vec![("l1", Bytes(first.0 / 2))];
    if let Some(second) = claimed(2).filter(|second| second.0 >= 4 * first.0) {
        blocks.push(("l2", Bytes(first.0 * (second.0 / first.0).isqrt())));
    }
    blocks
}

/// L1 and L2 in cycles of the multiply chain beside each window: turbo is in the unit then, and not in the number. In nanoseconds where
/// nothing is known of the chain.
pub(super) fn caches(bench: &mut Bench, cpu: CpuId, until: Instant) -> Result<(), MemoryError> {
    let line = line_bytes(&bench.machine);
    for done in 0..CACHE_SAMPLES_MAX {
        if done >= CACHE_SAMPLES_MIN && Instant::now() >= until {
            break;
        }
        for (question, block) in cache_blocks(&bench.machine, cpu) {
            let end = Instant::now() + Duration::from_secs(1);
            let mapped = Bytes(block.0.max(CACHE_MAPPING.0));
            let Some(mut mapping) = bench.mapping(mapped, PageRequest::Huge, end)? else { return Ok(()) };
            let page_bytes = mapping.pages().page_bytes;
            let room = mapping.as_mut_slice();
            let place = bench.random.below((room.len() as u64 - block.0) / 4096 + 1) as usize * 4096;
            let block_memory = &mut room[place..place + block.0 as usize];
            let Some(chain) = bench.chain(block_memory, (line, Order::Random), end) else { return Ok(()) };
            let mut walker = Walker::new(&chain, CACHE_ROUNDS);
            bench.sampler(cpu).about(|| series(question, block));
            walker.warm(4 * chain.nodes() as u64, bench.sampler(cpu));
            let cycles = bench.cycles_per_multiply;
            let unit = if cycles.is_some() { "core cycles" } else { "ns" };
            let sample = about(question, cpu, block, page_bytes, unit);
            bench.take(sample, Instant::now() + CACHE_SAMPLE, |bench| {
                let timed = walker.window(bench.sampler(cpu))?;
                let value = cycles.map_or(timed.ns, |cycles| timed.ns / timed.multiply_ns * cycles);
                Some(timed.as_value(value))
            });
        }
    }
    Ok(())
}

/// Random reads in a block that is as large as there is room and time for, in huge pages, then in ever larger parts of it, which show
/// where the last cache ends; then in base pages, as long as there is time.
pub(super) fn memory(bench: &mut Bench, cpu: CpuId, until: Instant) -> Result<(), MemoryError> {
    let left = until.saturating_duration_since(Instant::now());
    let mut block = block_for(left, largest_block(&bench.machine, MEMORY_BLOCK));
    let mut mapping = loop {
        let end = until.min(Instant::now() + left.mul_f64(LAYING_SHARE));
        if let Some(mapping) = bench.mapping(block, PageRequest::Huge, end)? {
            break mapping;
        }
        if bench.is_over(until) || block <= SMALLEST_BLOCK {
            return Ok(());
        }
        // What was touched on the way is there at once for the next.
        block = Bytes(block.0 / 2);
    };
    let page_bytes = mapping.pages().page_bytes;
    let memory = mapping.as_mut_slice();
    let parts = (line_bytes(&bench.machine), Order::RandomWithin { group_bytes: GROUP_BYTES });
    reads(bench, cpu, memory, ("memory", page_bytes), (READS_OF_MEMORY, left.mul_f64(SAMPLE_SHARE)), until);
    let largest = if left < SHORT_OF_TIME { LARGEST_PART_IN_SHORT } else { LARGEST_PART };
    let mut part = SMALLEST_PART.0;
    while part <= (block.0 / 2).min(largest.0) {
        let memory = &mut memory[..part as usize];
        reads(bench, cpu, memory, (PARTS, page_bytes), (parts, left.mul_f64(PART_SHARE)), until);
        part *= 2;
    }
    drop(mapping);
    let Some(mut mapping) = bench.mapping(block, PageRequest::Base, until)? else { return Ok(()) };
    let page_bytes = mapping.pages().page_bytes;
    let memory = mapping.as_mut_slice();
    reads(
        bench,
        cpu,
        memory,
        ("memory-base", page_bytes),
        (READS_OF_MEMORY, left.mul_f64(SAMPLE_SHARE)),
        until,
    );
    Ok(())
}

/// The block, in whole octaves below the largest, that so much time is enough for. It does not depend on how fast the machine happens to
/// be: runs read the same.
fn block_for(time: Duration, most: Bytes) -> Bytes {
    let octaves = (TIME_OF_BLOCK.as_secs_f64() / time.as_secs_f64().max(1e-3)).log2().ceil().clamp(0.0, 5.0);
    Bytes((MEMORY_BLOCK.0 >> octaves as u32).max(SMALLEST_BLOCK.0).min(most.0))
}

/// Windows of random reads in a block, for so long.
fn reads(
    bench: &mut Bench,
    cpu: CpuId,
    memory: &mut [u8],
    (question, page_bytes): (&str, Bytes),
    (walk, time): ((usize, Order), Duration),
    until: Instant,
) {
    let block = Bytes(memory.len() as u64);
    let Some(chain) = bench.chain(memory, walk, until) else { return };
    let mut walker = Walker::new(&chain, MEMORY_ROUNDS);
    bench.sampler(cpu).about(|| series(question, block));
    // A part once as a whole: laying leaves other lines in the caches than reading in this order does.
    let most = if question == PARTS { chain.nodes() as u64 } else { WARM_PIECE };
    let mut left = most.min(chain.nodes() as u64);
    while left > 0 && !bench.is_over(until) {
        let piece = left.min(WARM_PIECE);
        walker.warm(piece, bench.sampler(cpu));
        left -= piece;
    }
    let sample = about(question, cpu, block, page_bytes, "ns");
    bench.take(sample, until.min(Instant::now() + time), |bench| {
        let timed = walker.window(bench.sampler(cpu))?;
        Some(timed.as_value(timed.ns))
    });
}

/// What planted differences know windows by: of the class of latency.
fn series(question: &str, block: Bytes) -> String {
    format!("latency, question {question}, block {block}")
}

/// A sample without its values.
pub(super) fn about(
    question: &str,
    cpu: CpuId,
    block: Bytes,
    page_bytes: Bytes,
    unit: &str,
) -> QuestionSample {
    QuestionSample {
        question: question.to_owned(),
        cpu,
        block_bytes: Some(block),
        page_bytes: Some(page_bytes),
        unit: unit.to_owned(),
        ..QuestionSample::default()
    }
}

#[cfg(test)]
mod tests {
    use machine::{Cache, CacheKind, CpuSet};

    use super::*;

    #[test]
    fn the_block_of_memory_is_by_the_time_that_was_given_and_the_room() {
        let block = |ms, most| block_for(Duration::from_millis(ms), Bytes(most)).0 >> 20;
        assert_eq!([3900, 3000, 1600, 500, 1].map(|ms| block(ms, 1 << 30)), [1024, 1024, 512, 128, 32]);
        assert_eq!([3900, 500].map(|ms| block(ms, 48 << 20)), [48, 48]);
    }

    #[test]
    fn blocks_of_caches_lie_between_the_levels_and_an_unclaimed_one_is_left_out() {
        let cpu = CpuId(1);
        assert_eq!(cache_blocks(&Machine::default(), cpu), [("l1", Bytes(16 << 10))]);
        let cache = |level, size: u64| Cache {
            level,
            kind: CacheKind::Unified,
            size_bytes: Some(Bytes(size)),
            line_bytes: None,
            ways: None,
            shared_by: [cpu].into_iter().collect::<CpuSet>(),
            sharers_unknown: false,
        };
        let mut machine = Machine::default();
        machine.topology.caches = vec![cache(1, 48 << 10), cache(2, 2 << 20)];
        assert_eq!(cache_blocks(&machine, cpu), [("l1", Bytes(24 << 10)), ("l2", Bytes(288 << 10))]);
        assert_eq!(cache_blocks(&machine, CpuId(0)).len(), 1, "caches of another CPU");
    }
}
