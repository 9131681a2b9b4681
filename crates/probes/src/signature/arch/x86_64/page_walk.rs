//! The signature of memory: what a page walk costs.

use std::cell::Cell;
use std::hint::black_box;

use host::live::{Mapping, PageRequest};
use kernels::signature::StridedWalk;
use kernels::signature::strided_walk::LOADS_PER_ROUND;
use machine::Bytes;
use record::{Reading, SignatureReading};
use stats::Interval;

use super::judgement::Held;
use super::turns::Plan;
use crate::room::largest_block;
use crate::sampler::Sampler;
use crate::signature::{SignatureProbe, SignatureSetup};
use crate::timed_loop::TimedLoop;

/// What the published curves walk over: InstLatx64, latency by stride, 32 MiB.
const WALK_BLOCK: Bytes = Bytes(32 << 20);
/// Stride of the walk: one load in each page.
const PAGE_BYTES: usize = 4096;
/// Stride of its control: one load in each line.
const LINE_BYTES: usize = 64;
/// Some hundred loads with a walk each.
const WALK_WINDOW_NS: f64 = 50_000.0;
/// Each window meets other pages, so that the low end is less sharp than in loops of the core.
const QUANTILE: f64 = 0.25;
/// How far the line-by-line walk may differ before and after: it runs through memory that others use too.
const WALK_CONTROL: f64 = 0.15;
/// A load takes longer than nothing, and in no memory of a PC is a stream this slow, in nanoseconds per line.
const LINE_NS_PLAUSIBLE: Interval = Interval { low: 0.3, high: 300.0 };

/// Dependent loads through 32 MiB in pages of 4 KiB, one page apart, in nanoseconds each.
///
/// # Errors
/// Why nothing could be measured.
pub(super) fn page_walk(
    setup: &SignatureSetup<'_>,
    sampler: Sampler,
) -> Result<Reading<SignatureReading>, String> {
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
    let held = Held {
        text: "the same walk with a stride of 64 bytes",
        ratio: |lows| lows[2] / lows[0],
        bound: WALK_CONTROL,
        plausible: Some(LINE_NS_PLAUSIBLE),
    };
    let plan = Plan {
        works: vec![steps(&line, block), steps(&page, block), steps(&line, block)],
        cycles_per_multiply: None,
        window_ns: WALK_WINDOW_NS,
        quantile: QUANTILE,
        value: |lows| lows[1],
        held,
    };
    plan.measure(SignatureProbe::PageWalk, setup, sampler)
}

/// Steps of a walk from where it stands.
fn steps<'w>(walk: &'w Cell<StridedWalk>, block: &'w [u8]) -> TimedLoop<'w> {
    TimedLoop::new(LOADS_PER_ROUND, move |rounds| {
        let mut at = walk.get();
        at.walk(block, rounds);
        walk.set(black_box(at));
    })
}
