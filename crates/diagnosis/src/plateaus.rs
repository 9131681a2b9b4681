//! Plateaus: latencies at which a surface rests while the block grows, each one a level of the hierarchy.
//!
//! A level shows as a run of blocks with nearly the same latency, in one column at least. The line column alone may pass
//! through a small level without resting, since the knee before and the knee behind meet there; at larger strides the knees
//! move apart (an L3 counts lines, an L2 without hashed index counts sets), so all columns up to 1 KiB vote. The heaviest
//! run takes its neighbours in, so that a TLB miss (a third to a half on top of an L2 hit) makes no level of its own.

use record::Quality;
use stats::Order;

use crate::column::{Columns, Point};

/// Rise of latency with block size, in octaves per octave, below which a curve rests. Between two levels it is 1 to 3;
/// page walks alone make 0.1 to 0.3 in memory.
pub(crate) const REST_SLOPE: f64 = 0.3;

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
