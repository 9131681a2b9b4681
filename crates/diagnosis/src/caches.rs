//! Caches and memory as the surface shows them, beside what the machine claims.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{Level, Quality, Record, Scope};
use stats::Interval;

use crate::column::{Columns, Point, sane};
use crate::memory::{self, MEMORY_BEYOND, same_kind};
use crate::plateaus::{SLOWEST_CACHE_NS, plateaus};

/// Cells this near to the plateau, as a ratio, make up its latency.
const PLATEAU_RATIO: f64 = 1.12;

/// A block fits while its latency has gone less than this far from its level to the next.
const FITS_BELOW: f64 = 0.5;

/// A jump from below this to above its complement is complete: nothing inside it tells where the size lies.
const COMPLETE_JUMP: f64 = 0.15;

/// The levels, nearest first; none if the surface does not show any. Memory is the last one, if a block reached it.
pub(crate) fn caches(record: &Record) -> Vec<Level> {
    let Some(columns) = Columns::of(&record.memory) else { return Vec::new() };
    let mut found = plateaus(&columns);
    let line = columns.line();
    let Some(largest) = line.last().map(|point| point.block_bytes) else { return Vec::new() };
    let claims = claims(record, &columns);
    let beyond_caches = if reaches_memory(&found, &claims, largest) { found.pop() } else { None }.is_some();
    let Some(last_ns) = found.last().copied() else { return Vec::new() };
    let largest_claim = claims.iter().map(|claim| claim.1).max();
    let mut memory = memory::measured(record, &columns, last_ns, largest_claim);
    if beyond_caches {
        memory = memory.or_else(|| memory::resting(&columns, last_ns));
    }
    let next_ns = found.iter().skip(1).copied().map(Some).chain([memory.map(|seen| seen.ns)]);
    let reached = memory.and_then(|seen| seen.block_bytes).map(|block| block as f64);
    let sizes: Vec<Option<Size>> =
        found.iter().zip(next_ns).map(|(here, next)| size(line, *here, next?, reached)).collect();
    let numbers = numbers(&sizes, &claims);
    let mut levels: Vec<Level> = Vec::new();
    for ((plateau, size), number) in found.iter().zip(&sizes).zip(numbers) {
        let mut level = latency(&columns, *plateau);
        level.name = format!("L{number}");
        level.size_bytes = size.map(|size| Bytes(size.bytes as u64));
        level.size_interval = size.map(|size| size.interval);
        level.claimed_bytes = claims.iter().find(|claim| claim.0 == number).map(|claim| claim.1);
        levels.push(level);
    }
    levels.extend(memory.map(|seen| seen.level()));
    for (index, level) in levels.iter_mut().enumerate() {
        let below = index.checked_sub(1).and_then(|below| sizes[below]).map(|size| size.surely_beyond());
        let above = sizes.get(index).copied().flatten().map(|size| size.surely_inside());
        if let Some((rate, interval)) = read_bandwidth(record, &columns, below, above) {
            level.read_bytes_per_s = Some(rate);
            level.read_interval = Some(interval);
        }
    }
    levels
}

/// Claimed size by level number, nearest first.
fn claims(record: &Record, columns: &Columns) -> Vec<(u8, Bytes)> {
    (1..=4)
        .filter_map(|level| {
            let cache = record.machine.topology.data_cache(columns.cpu, level)?;
            Some((level, cache.size_bytes.filter(|size| size.0 > 0)?))
        })
        .collect()
}

/// True if the slowest plateau is memory and not the last cache: the surface may end too early.
fn reaches_memory(found: &[f64], claims: &[(u8, Bytes)], largest_block: u64) -> bool {
    let Some(slowest) = found.last() else { return false };
    let beyond_claims = claims
        .iter()
        .map(|claim| claim.1.0 as f64)
        .fold(None, |largest: Option<f64>, size| Some(largest.map_or(size, |l| l.max(size))))
        .is_some_and(|claimed| largest_block as f64 >= MEMORY_BEYOND * claimed);
    let more_than_claimed = !claims.is_empty() && found.len() > claims.len();
    found.len() > 1 && (beyond_claims || more_than_claimed || *slowest > SLOWEST_CACHE_NS)
}

/// Level numbers of the caches found. Without claims, or with as many, they count up; where fewer are found than claimed
/// each takes the claim it is nearest to in size, in order: a machine whose L2 cannot be told apart still has an L3.
fn numbers(sizes: &[Option<Size>], claims: &[(u8, Bytes)]) -> Vec<u8> {
    if sizes.len() >= claims.len() {
        return (1..=sizes.len()).map(|number| u8::try_from(number).unwrap_or(u8::MAX)).collect();
    }
    let mut numbers = Vec::new();
    let mut next = 0;
    for (index, size) in sizes.iter().enumerate() {
        let last = claims.len() - (sizes.len() - index);
        let distance = |claim: &(u8, Bytes)| {
            size.map_or(0.0, |size| (claim.1.0 as f64 / size.bytes.max(1.0)).log2().abs())
        };
        let nearest = (next..=last).min_by(|a, b| distance(&claims[*a]).total_cmp(&distance(&claims[*b])));
        let chosen = nearest.unwrap_or(next);
        numbers.push(claims[chosen].0);
        next = chosen + 1;
    }
    numbers
}

/// A capacity with its bounds in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    pub(crate) bytes: f64,
    interval: Interval,
}

impl Size {
    /// Blocks up to this come from the level: its lower bound, or half of the size where the bound is far below.
    fn surely_inside(&self) -> f64 {
        self.interval.low.max(self.bytes / MEMORY_BEYOND)
    }

    /// Blocks above this come from the next level: the upper bound, or twice the size where the bound is far above.
    fn surely_beyond(&self) -> f64 {
        self.interval.high.min(self.bytes * MEMORY_BEYOND)
    }
}

/// Capacity of the level of latency `here`: between the last block of the line column that fits and the first that does
/// not. The split is where fewest blocks contradict it, so that one disturbed cell does not move it. The bounds are the
/// nearest blocks that decide: those in several states, or with the threshold inside their interval, tell nothing.
/// `reached` is a block known to come from beyond all caches.
pub(crate) fn size(line: &[Point], here: f64, next: f64, reached: Option<f64>) -> Option<Size> {
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
    let largest = block(line.last()?);
    let high =
        line[split..].iter().find(surely_left).map_or_else(|| reached.unwrap_or(0.0).max(largest), block);
    let interval = Interval { low: block(low), high };
    let (before, after) = (progress(last), progress(first));
    let complete = before < COMPLETE_JUMP && after > 1.0 - COMPLETE_JUMP;
    let bytes = if complete || after <= before {
        block(last)
    } else {
        let share = ((FITS_BELOW - before) / (after - before)).clamp(0.0, 1.0);
        block(last) * (block(first) / block(last)).powf(share)
    };
    Some(Size { bytes, interval })
}

/// Sizes of a level in each page size that was measured, for two or more of them: scattered base pages collide in a
/// cache that contiguous huge pages fill evenly, so programs without huge pages get less of it. `reached` as in [`size`].
pub(crate) fn sizes_by_page(
    record: &Record,
    here_ns: f64,
    next_ns: f64,
    reached: f64,
) -> Vec<(Bytes, Bytes, Interval)> {
    let pages: BTreeSet<Bytes> = record.memory.latency.iter().map(|cell| cell.page_bytes).collect();
    let found: Vec<(Bytes, Bytes, Interval)> = pages
        .into_iter()
        .filter_map(|page| {
            let columns = Columns::of_pages(&record.memory, |of_cell| of_cell == page.0)?;
            let size = size(columns.line(), here_ns, next_ns, Some(reached))?;
            Some((page, Bytes(size.bytes as u64), size.interval))
        })
        .collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// Latency of a plateau over its cells, the level still without name and size.
fn latency(columns: &Columns, plateau: f64) -> Level {
    let cells: Vec<&Point> = columns
        .by_stride
        .values()
        .flatten()
        .filter(|point| point.ns < plateau * PLATEAU_RATIO && point.ns > plateau / PLATEAU_RATIO)
        .collect();
    let values: Vec<f64> = cells.iter().map(|cell| cell.ns).collect();
    let cycles: Vec<f64> = cells.iter().filter_map(|cell| cell.core_cycles).collect();
    let ns = stats::median(&values).unwrap_or(plateau);
    // The wider of the scatter over cells and the typical interval inside a cell.
    let across =
        stats::quantile_interval(&stats::sorted(&values), 0.5).unwrap_or(Interval { low: ns, high: ns });
    let widths: Vec<f64> = cells.iter().map(|cell| cell.interval.half_width()).collect();
    let half = stats::median(&widths).unwrap_or(0.0);
    Level {
        name: String::new(),
        size_bytes: None,
        size_interval: None,
        claimed_bytes: None,
        ns,
        ns_interval: across.hull(&Interval { low: ns - half, high: ns + half }),
        core_cycles: stats::median(&cycles),
        read_bytes_per_s: None,
        read_interval: None,
    }
}

/// Best read bandwidth of one CPU of the surface's kind at the block nearest to the middle of a level, in octaves; for memory the largest block.
fn read_bandwidth(
    record: &Record,
    columns: &Columns,
    below: Option<f64>,
    above: Option<f64>,
) -> Option<(f64, Interval)> {
    let inside =
        |block: f64| below.is_none_or(|below| block > below) && above.is_none_or(|above| block <= above);
    // L1 has no lower bound: half of it is its middle. Memory has no upper one: the more the better.
    let target = match (below, above) {
        (Some(below), Some(above)) => (below * above).sqrt(),
        (None, Some(above)) => above / 2.0,
        _ => f64::MAX,
    };
    let distance = |block: u64| (target / block as f64).log2().abs();
    let points: Vec<_> = record
        .memory
        .bandwidth
        .iter()
        .filter(|point| {
            point.scope == Scope::Cpu
                && point.cpus.iter().all(|cpu| same_kind(record, cpu, columns.cpu))
                && point.kernel == "read"
                && point.block_bytes.0 > 0
                && inside(point.block_bytes.0 as f64)
                && point.bytes_per_s.is_finite()
                && point.bytes_per_s > 0.0
        })
        .collect();
    let nearest = points.iter().map(|point| distance(point.block_bytes.0)).min_by(f64::total_cmp)?;
    points
        .into_iter()
        .filter(|point| distance(point.block_bytes.0) <= nearest)
        .max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))
        .map(|point| (point.bytes_per_s, sane(point.spread.interval, point.bytes_per_s)))
}
