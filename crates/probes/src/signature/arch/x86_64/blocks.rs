//! Signatures of memory: what a page walk costs, and whether zeros over zeros are cheaper than other bytes.

use std::cell::Cell;
use std::hint::black_box;

use host::live::{Mapping, PageRequest};
use kernels::signature::strided_walk::LOADS_PER_ROUND;
use kernels::signature::{StridedWalk, fill};
use machine::{Bytes, CpuId, Machine};
use stats::Interval;

use super::turns::{Length, Scale, Taken, take_turns};
use crate::memory::largest_block;
use crate::sampler::Sampler;
use crate::signature::judgement::{Held, Level, Turns};
use crate::signature::{Readings, SignatureProbe, SignatureSetup};
use crate::timed_loop::TimedLoop;

/// What the published curves walk over: InstLatx64, latency by stride, 32 MiB.
const WALK_BLOCK: Bytes = Bytes(32 << 20);
/// Stride of the walk: one load in each page.
const PAGE_BYTES: usize = 4096;
/// Stride of its control: one load in each line.
const LINE_BYTES: usize = 64;
/// Some hundred loads with a walk each.
const WALK_WINDOW: Length = Length::Nanoseconds(50_000.0);
/// Each window meets other pages, so that the low end is less sharp than in loops of the core.
const QUANTILE: f64 = 0.25;
/// How far the line-by-line walk may differ before and after: it runs through memory that others use too.
const WALK_CONTROL: f64 = 0.15;
/// A load takes longer than nothing, and in no memory of a PC is a stream this slow, in nanoseconds per line.
const LINE_NS_PLAUSIBLE: Interval = Interval { low: 0.3, high: 300.0 };

/// The block that is filled is so many times the second level: every line has left it when it is filled again.
const FILL_IN_L2: u64 = 2;
/// What is filled where no second level is claimed, and at least.
const FILL_BLOCK_MIN: Bytes = Bytes(2 << 20);
/// What is filled at most: a window should not last longer than a millisecond.
const FILL_BLOCK_MAX: Bytes = Bytes(8 << 20);
/// How far fills with two bytes other than zero may differ: as far as the control loops beside a window.
const FILL_CONTROL: f64 = 0.05;
/// What is filled in: zeros, and two bytes that nothing tells from each other.
const FILL_BYTES: [u8; 3] = [0, 0x01, 0x55];

/// Dependent loads through 32 MiB in pages of 4 KiB, one page apart, in nanoseconds each.
///
/// # Errors
/// Why nothing could be measured.
pub(super) fn page_walk(setup: &SignatureSetup<'_>, mut sampler: Sampler) -> Result<Readings, String> {
    let room = largest_block(setup.machine, WALK_BLOCK);
    if room < WALK_BLOCK {
        return Err(format!("no room for a block of {WALK_BLOCK}: {room} may be used"));
    }
    let mut mapping = Mapping::new(room.0 as usize, PageRequest::Base).map_err(|error| error.to_string())?;
    if mapping.pages().share < 1.0 {
        return Err("the kernel gave huge pages although base pages were asked for".to_owned());
    }
    let block: &[u8] = mapping.as_mut_slice();
    // One walk for both windows of the control: a second one would follow the first through what that has cached.
    let [line, page] = [LINE_BYTES, PAGE_BYTES].map(|stride_bytes| Cell::new(StridedWalk::new(stride_bytes)));
    let mut works = [steps(&line, block), steps(&page, block), steps(&line, block)];
    let Taken { values, slowdown } =
        take_turns(setup, &mut sampler, Scale::Nanoseconds, WALK_WINDOW, &mut works)?;
    let turns = Turns { values, slowdown, quantile: QUANTILE, seed: setup.seed };
    let held = Held {
        text: "the same walk with a stride of 64 bytes",
        ratio: |lows| lows[2] / lows[0],
        bound: WALK_CONTROL,
        level: Some(Level { work: 0, plausible: LINE_NS_PLAUSIBLE }),
    };
    Ok(turns.readings(SignatureProbe::PageWalk, &[|lows| lows[1]], &held))
}

/// Steps of a walk from where it stands.
fn steps<'w>(walk: &'w Cell<StridedWalk>, block: &'w [u8]) -> TimedLoop<'w> {
    TimedLoop::new(LOADS_PER_ROUND, move |rounds| {
        let mut at = walk.get();
        at.walk(block, rounds);
        walk.set(black_box(at));
    })
}

/// What a fill with zeros costs, in fills with another byte, both over a block that held the same already.
///
/// # Errors
/// Why nothing could be measured.
pub(super) fn zero_store(setup: &SignatureSetup<'_>, mut sampler: Sampler) -> Result<Readings, String> {
    let bytes = largest_block(setup.machine, fill_block(setup.machine, setup.cpu));
    let mut mapping = Mapping::new(bytes.0 as usize, PageRequest::Huge).map_err(|error| error.to_string())?;
    let block = Cell::new(mapping.as_mut_slice());
    // The first fill of a byte changes the lines and is not looked at; the second leaves them as they are.
    let work = |byte: u8| {
        let block = &block;
        TimedLoop::new(1, move |rounds| {
            let lines = block.take();
            (0..rounds).for_each(|_| fill(lines, byte));
            block.set(lines);
        })
    };
    let mut works: Vec<TimedLoop<'_>> =
        FILL_BYTES.into_iter().flat_map(|byte| [work(byte), work(byte)]).collect();
    let Taken { values, slowdown } =
        take_turns(setup, &mut sampler, Scale::Nanoseconds, Length::Round, &mut works)?;
    drop(works);
    let turns = Turns { values, slowdown, quantile: QUANTILE, seed: setup.seed };
    let held = Held {
        text: "two bytes other than zero",
        ratio: |lows| lows[5] / lows[3],
        bound: FILL_CONTROL,
        level: None,
    };
    Ok(turns.readings(SignatureProbe::ZeroStore, &[|lows| lows[1] / lows[3]], &held))
}

/// Twice the second level of the CPU, within bounds.
fn fill_block(machine: &Machine, cpu: CpuId) -> Bytes {
    let second_level = machine.topology.data_cache(cpu, 2).and_then(|cache| cache.size_bytes);
    let wish = second_level.map_or(FILL_BLOCK_MIN.0, |size| size.0.saturating_mul(FILL_IN_L2));
    Bytes(wish.clamp(FILL_BLOCK_MIN.0, FILL_BLOCK_MAX.0))
}

#[cfg(test)]
mod tests {
    use machine::{Cache, CacheKind};

    use super::*;

    #[test]
    fn the_filled_block_is_twice_the_second_level_within_bounds() {
        for (claimed, expected) in
            [(None, 2), (Some(Bytes(256 << 10)), 2), (Some(Bytes(2 << 20)), 4), (Some(Bytes(64 << 20)), 8)]
        {
            let mut machine = Machine::default();
            let shared_by = [CpuId(0)].into_iter().collect();
            machine.topology.caches.extend(claimed.map(|size| Cache {
                level: 2,
                kind: CacheKind::Unified,
                size_bytes: Some(size),
                shared_by,
                ..machine::Cache::default()
            }));
            assert_eq!(fill_block(&machine, CpuId(0)), Bytes(expected << 20), "{claimed:?}");
        }
    }
}
