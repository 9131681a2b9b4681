//! The measured latency surface as columns: latency against block size at one stride, cleaned of disturbance.
//!
//! Each cell is the fastest over the page sizes measured: noise only adds time, and so do TLB misses, so the minimum prefers
//! the huge pages where translation matters and the undisturbed visit everywhere.
//!
//! Plateaus: latencies at which a surface rests while the block grows, each one a level of the hierarchy, and the edge at which each ends.
//!
//! A level shows as a run of blocks with nearly the same latency, in one column at least. The line column alone may pass
//! through a small level without resting, since the knee before and the knee behind meet there; at larger strides the knees
//! move apart (an L3 counts lines, an L2 without hashed index counts sets), so all columns up to 1 KiB vote. The heaviest
//! run takes its neighbours in, so that a TLB miss (a third to a half on top of an L2 hit) makes no level of its own.

use std::collections::BTreeMap;

use machine::CpuId;
use record::{LatencyCell, Memory, Quality};
use stats::{Interval, Order};

/// The data of a cache line moves as one: below this stride several elements hit the same line. All x86-64 CPUs.
pub(crate) const LINE_BYTES: u64 = 64;

/// Longest latency that is believed: 10 us for one load is a stopped machine, not memory.
const LONGEST_NS: f64 = 10_000.0;

/// One cell of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) block_bytes: u64,
    pub(crate) ns: f64,
    pub(crate) interval: Interval,
    pub(crate) quality: Quality,
}

/// Columns by stride, each with ascending blocks, of the CPU with the most cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Columns {
    pub(crate) cpu: CpuId,
    pub(crate) by_stride: BTreeMap<u64, Vec<Point>>,
}

/// Shortest latency that is believed: a load takes a cycle at least, and no clock reaches 20 GHz.
const SHORTEST_NS: f64 = 0.05;

/// True if the number can be the latency of a load.
pub(crate) fn is_latency(ns: f64) -> bool {
    (SHORTEST_NS..LONGEST_NS).contains(&ns)
}

impl Columns {
    /// The columns of a record; `None` without a usable cell at a stride of a line or more.
    pub(crate) fn of(memory: &Memory) -> Option<Self> {
        let usable = |cell: &&LatencyCell| {
            is_latency(cell.ns) && cell.stride_bytes.0 >= LINE_BYTES && cell.block_bytes.0 > 0
        };
        let mut counts = BTreeMap::<CpuId, usize>::new();
        for cell in memory.latency.iter().filter(usable) {
            *counts.entry(cell.cpu).or_default() += 1;
        }
        // Of equals the lowest CPU number, so that the answer does not depend on the order of cells.
        let cpu = counts.iter().max_by_key(|(cpu, count)| (**count, std::cmp::Reverse(**cpu)))?.0;
        let mut fastest = BTreeMap::<u64, BTreeMap<u64, Point>>::new();
        let mut offer = |stride: u64, point: Point| {
            let column = fastest.entry(stride).or_default();
            let kept = column.entry(point.block_bytes).or_insert(point);
            if point.ns < kept.ns {
                *kept = point;
            }
        };
        for cell in memory.latency.iter().filter(usable).filter(|cell| cell.cpu == *cpu) {
            offer(
                cell.stride_bytes.0,
                Point {
                    block_bytes: cell.block_bytes.0,
                    ns: cell.ns,
                    interval: sane(cell.spread.interval, cell.ns),
                    quality: cell.spread.quality,
                },
            );
        }
        let by_stride =
            fastest.into_iter().map(|(stride, column)| (stride, column.into_values().collect())).collect();
        Some(Self { cpu: *cpu, by_stride })
    }

    /// The column of whole lines; where it is missing, that of the smallest stride.
    pub(crate) fn line(&self) -> &[Point] {
        self.by_stride.get(&LINE_BYTES).or_else(|| self.by_stride.values().next()).map_or(&[], Vec::as_slice)
    }
}

/// Base pages are up to 64 KiB (arm64); huge ones start at 2 MiB.
pub(crate) const LARGEST_BASE_PAGE_BYTES: u64 = 64 << 10;

/// The interval if it is finite and holds the value, else the value alone.
pub(crate) fn sane(interval: Interval, value: f64) -> Interval {
    let point = Interval { low: value, high: value };
    let known = interval.low.is_finite() && interval.high.is_finite() && interval.low <= interval.high;
    if known { interval.hull(&point) } else { point }
}

/// A claim this many times beyond the bounds disagrees: the bounds are one grid step apart already, and a cache that
/// is nearly full starts to miss before its size.
pub(crate) const DISAGREES_BEYOND: f64 = 1.3;

/// Rise of latency with block size, in octaves per octave, below which a curve rests. Between two levels it is 1 to 3;
/// page walks alone make 0.1 to 0.3 in memory.
const REST_SLOPE: f64 = 0.3;

/// Neighbours nearer than this ratio rest however near their blocks are: the noise of one cell.
const REST_RATIO: f64 = 1.08;

/// Two levels differ by more than this ratio. The nearest pairs known are L2 and L3 of client parts (12 and 39 cycles);
/// an L2 hit with a first-level TLB miss reaches 1.6 (12 + 7 cycles on Zen 3).
pub(crate) const LEVEL_RATIO: f64 = 1.8;

/// Half of that distance: nearer than this, as a ratio, a block rests at a plateau and at no other.
pub(crate) const EDGE_RATIO: f64 = 1.34;

/// Larger strides meet set conflicts and TLB misses.
const LARGEST_STRIDE_BYTES: u64 = 1024;

/// No last-level cache is slower than this, in ns: the slowest mesh caches of servers take 30 to 45.
pub(crate) const SLOWEST_CACHE_NS: f64 = 60.0;

/// In memory, page walks alone raise latency up to this ratio; what is beyond is another kind of memory.
const MEMORY_RATIO: f64 = 3.0;

/// A run of this many cells in all columns is a level; with a single column two have to do.
const LIGHTEST_LEVEL: usize = 3;

/// Blocks this many times the last cache reach memory.
pub(crate) const MEMORY_BEYOND: f64 = 2.0;

/// A block fits while its latency has gone less than this far from its level to the next.
const FITS_BELOW: f64 = 0.5;

/// One edge is at most this wide: from the last block that rests to the middle of the rise. Measured edges span a factor of
/// 1.5 to 2.7, the widest of a second level that base pages fill unevenly.
const WIDEST_EDGE: f64 = 4.0;

/// A jump from below this to above its complement is complete: nothing inside it tells where the size lies.
const COMPLETE_JUMP: f64 = 0.15;

/// Latencies of the plateaus, ascending.
pub(crate) fn plateaus(columns: &Columns) -> Vec<f64> {
    let voting: Vec<&Vec<Point>> = columns
        .by_stride
        .iter()
        .filter(|(stride, _)| **stride <= LARGEST_STRIDE_BYTES)
        .map(|(_, column)| column)
        .collect();
    let lightest = if voting.len() > 1 { LIGHTEST_LEVEL } else { LIGHTEST_LEVEL - 1 };
    let mut runs: Vec<Vec<f64>> = voting.iter().flat_map(|column| runs(column)).collect();
    runs.order_by(|a, b| b.len().cmp(&a.len()).then(a[0].total_cmp(&b[0])));
    let mut levels: Vec<Vec<f64>> = Vec::new();
    // Runs near a heavier level belong to it; the heaviest of the rest found the next one.
    let mut centres: Vec<f64> = Vec::new();
    for run in runs {
        let here = middle(&run);
        let near = centres.iter().position(|centre| ratio(*centre, here) < LEVEL_RATIO);
        if let Some(index) = near {
            levels[index].extend(run);
        } else {
            centres.push(here);
            levels.push(run);
        }
    }
    let mut found: Vec<f64> = levels
        .iter()
        .zip(&centres)
        .filter(|(cells, _)| cells.len() >= lightest)
        .map(|(cells, centre)| core_of(cells, *centre))
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    found.dedup_by(|next, kept| {
        let apart = ratio(*next, *kept);
        apart < LEVEL_RATIO || (*kept > SLOWEST_CACHE_NS && apart < MEMORY_RATIO)
    });
    found
}

/// True if latency rests between neighbouring blocks of a column.
fn rests(a: &Point, b: &Point) -> bool {
    let octaves = (b.block_bytes as f64 / a.block_bytes as f64).log2();
    let rise = ratio(a.ns, b.ns);
    rise < REST_RATIO || rise.log2() < REST_SLOPE * octaves
}

/// Runs of two or more neighbours that rest. A cell in several states has no latency of its own and does not vote.
fn runs(column: &[Point]) -> Vec<Vec<f64>> {
    column
        .chunk_by(rests)
        .map(|run| {
            run.iter().filter(|point| point.quality != Quality::Unstable).map(|point| point.ns).collect()
        })
        .filter(|run: &Vec<f64>| run.len() > 1)
        .collect()
}

fn ratio(a: f64, b: f64) -> f64 {
    if a > b { a / b } else { b / a }
}

fn middle(cells: &[f64]) -> f64 {
    stats::median(cells).unwrap_or(0.0)
}

/// The middle of the cells near the heaviest run: those with a TLB miss on top stay out.
fn core_of(cells: &[f64], centre: f64) -> f64 {
    /// Cells of one level scatter by this ratio in quiet runs.
    const CORE_RATIO: f64 = 1.2;
    let near: Vec<f64> = cells.iter().copied().filter(|cell| ratio(*cell, centre) < CORE_RATIO).collect();
    if near.is_empty() { centre } else { middle(&near) }
}

/// Smallest and largest block of the line column that rest at this latency; those in several states tell nothing.
pub(crate) fn rest(line: &[Point], ns: f64) -> Option<[f64; 2]> {
    let steady = line.iter().filter(|point| point.quality != Quality::Unstable);
    let mut near = steady.filter(|point| point.ns < ns * EDGE_RATIO && point.ns > ns / EDGE_RATIO);
    let first = near.next()?;
    let last = near.next_back().unwrap_or(first);
    Some([first, last].map(|point| point.block_bytes as f64))
}

/// A capacity with its bounds in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    pub(crate) bytes: f64,
    pub(crate) interval: Interval,
}

/// Capacity of the level of latency `here`: between the last block of the line column that fits and the first that does
/// not. The split is where fewest blocks contradict it, so that one disturbed cell does not move it. The bounds are the
/// nearest blocks that decide: those in several states, or with the threshold inside their interval, tell nothing. None where no block
/// decides, and where the level is left so much earlier that another one may lie between.
pub(crate) fn size(line: &[Point], here: f64, next: f64) -> Option<Size> {
    let share = |ns: f64| (ns - here) / (next - here);
    let progress = |point: &Point| share(point.ns);
    let fits: Vec<bool> = line.iter().map(|point| progress(point) < FITS_BELOW).collect();
    let contradictions = |split: usize| {
        fits[..split].iter().filter(|fit| !**fit).count() + fits[split..].iter().filter(|fit| **fit).count()
    };
    let split = (1..line.len()).min_by_key(|split| contradictions(*split))?;
    let one_sided = fits[split..].iter().all(|fit| *fit) || !fits[..split].contains(&true);
    if one_sided || contradictions(split) * 4 > line.len() {
        return None;
    }
    let (last, first) = (&line[split - 1], &line[split]);
    let steady = |point: &&Point| point.quality != Quality::Unstable;
    let surely_fits = |point: &&Point| steady(point) && share(point.interval.high) < FITS_BELOW;
    let surely_left = |point: &&Point| steady(point) && share(point.interval.low) >= FITS_BELOW;
    let block = |point: &Point| point.block_bytes as f64;
    let low = line[..split].iter().rfind(surely_fits).unwrap_or(&line[0]);
    let interval = Interval { low: block(low), high: block(line[split..].iter().find(surely_left)?) };
    let (before, after) = (progress(last), progress(first));
    let complete = before < COMPLETE_JUMP && after > 1.0 - COMPLETE_JUMP;
    let bytes = if complete || after <= before {
        block(last)
    } else {
        let share = ((FITS_BELOW - before) / (after - before)).clamp(0.0, 1.0);
        block(last) * (block(first) / block(last)).powf(share)
    };
    let is_one_edge = rest(line, here).is_none_or(|[_, end]| bytes <= WIDEST_EDGE * end);
    is_one_edge.then_some(Size { bytes, interval })
}
